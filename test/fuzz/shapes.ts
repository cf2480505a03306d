import { type Random } from './random.ts'

/** The part of JSON Schema that OpenAPI documents and the schemas of our contracts use. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
}

export interface Shaping {
  /** Text for a schema that requires one. */
  readonly textOf: (random: Random, schema: Schema) => string
  /** The schema that a `$ref` names. */
  readonly resolve?: (ref: string) => Schema | undefined
  /** Value for a schema that accepts any. */
  readonly anyOf?: (random: Random) => unknown
  /** Probability that a part is replaced by any JSON; 0.06 if left out. */
  readonly wrong?: number
}

/** A value that mostly has the form of the schema, with a wrong part here and there. */
export function valueOf(random: Random, schema: Schema | undefined, shaping: Shaping, depth = 5): unknown {
  const inner = (part: Schema | undefined, left = depth - 1) => valueOf(random, part, shaping, left)
  if (!schema || depth === 0 || random.chance(shaping.wrong ?? 0.06)) return random.json()
  if (schema.$ref !== undefined) return inner(shaping.resolve?.(schema.$ref))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices?.[0]) return inner(random.pick(choices), depth)
  if (schema.enum?.[0] !== undefined) return random.pick(schema.enum)
  if (schema.const !== undefined) return schema.const
  if (schema.type === undefined && shaping.anyOf) return shaping.anyOf(random)
  const type = typeof schema.type === 'string' ? schema.type : random.pick(schema.type ?? ['string'])
  switch (type) {
    case 'object': {
      const named = Object.entries(schema.properties ?? {})
        .filter(([name]) => schema.required?.includes(name) === true || random.chance(0.4))
        .map(([name, property]) => [name, inner(property)])
      const more =
        typeof schema.additionalProperties === 'object' ? [[random.text(10), inner(schema.additionalProperties)]] : []
      return Object.fromEntries([...named, ...more])
    }
    case 'array':
      return Array.from({ length: random.int(4) }, () => inner(schema.items))
    case 'integer':
    case 'number':
      return random.pick([0, 1, schema.minimum ?? 2, schema.maximum ?? 1000, -1, random.int(100_000), 2 ** 53])
    case 'boolean':
      return random.chance(0.5)
    case 'null':
      return null
    default:
      return shaping.textOf(random, schema)
  }
}
