import { z } from 'zod'

/** Values of required fields while another field is marked. */
let serial = 0
const RIGHT: Readonly<Record<string, () => unknown>> = {
  cpu: () => '1',
  domain: () => 'default',
  email: () => `n${++serial}@example.org`,
  image: () => 'berth/python:3.13',
  name: () => `name-${++serial}`,
  password: () => 'Their-own-pass-1',
  resources: () => ({ cpu: '1', mem: '1073741824' }),
  slots: () => ({ cpu: '1', mem: '1073741824' }),
  url: () => 'http://127.0.0.1:9',
}
/** Fields with the names and addresses of things: the log contains them as targets, so they are never secret. */
const IDENTITY = new Set(['name', 'email'])

/** Bodies with the marker in every text field: in all at once, and in each of them with valid values in the required ones. */
export function bodiesOf(schema: z.ZodType, marker: string): unknown[] {
  const root = z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }) as Schema
  const json = resolve(root, root)
  const properties = Object.entries(json.properties ?? {})
  const right = () =>
    Object.fromEntries(
      properties
        .filter(([name]) => json.required?.includes(name))
        .map(([name, value]) => [name, RIGHT[name]?.() ?? sample(value, 'valid')]),
    )
  const marked = properties
    .filter(([name]) => !IDENTITY.has(name))
    .map(([name, value]) => ({ ...right(), [name]: sample(value, marker) }))
  return [sample(json, marker), right(), ...marked, marker, { [marker]: marker }]
}

/** The schema with its references resolved. */
function resolve(schema: Schema, root: Schema): Schema {
  const { $ref, properties, items, anyOf, ...rest } = schema
  const named = $ref === undefined ? undefined : root.$defs?.[$ref.split('/').at(-1) ?? '']
  if (named) return resolve(named, root)
  return {
    ...rest,
    ...(items ? { items: resolve(items, root) } : {}),
    ...(anyOf ? { anyOf: anyOf.map(one => resolve(one, root)) } : {}),
    ...(properties
      ? { properties: Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, resolve(one, root)])) }
      : {}),
  }
}

interface Schema {
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

function sample(schema: Schema, text: string): unknown {
  if (schema.enum) return text === 'valid' ? schema.enum[0] : text
  if (schema.anyOf) return sample(schema.anyOf[0] ?? {}, text)
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer' || schema.type === 'number') return 1
  if (schema.type === 'array') return [sample(schema.items ?? {}, text)]
  if (schema.type === 'object') {
    const entries = Object.entries(schema.properties ?? { [text]: { type: 'string' } })
    return Object.fromEntries(entries.map(([key, value]) => [key, sample(value, text)]))
  }
  return text === 'valid' ? 'valid-Text-1' : text
}
