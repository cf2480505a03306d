import { z } from 'zod'

/** Largest number of entries of a list or record, unless its schema says otherwise. */
const MOST = 1_000

/** Schemas of the entries of a list or record, by how a path names them: `[]`, `{key}`, `{}`. */
type Parts = Readonly<Record<string, z.ZodType>>
const PARTS = new WeakMap<z.core.$ZodType, Parts>()

/** The schemas of the entries, for a walk over all schemas; undefined for a schema that this file has not made. */
export const partsOf = (schema: z.core.$ZodType): Parts | undefined => PARTS.get(schema)

function withParts<Schema extends z.ZodType>(schema: Schema, parts: Parts): Schema {
  PARTS.set(schema, parts)
  return schema
}

/**
 * Schema of a list that is read up to its first invalid entry, which alone is reported. Threat model: rejecting an invalid entry takes the
 * manager a thousand times as long as it takes an agent to send it, and nobody else is served meanwhile.
 *
 * @param most a longer list is refused unread
 */
export function listOf<Item extends z.ZodType>(item: Item, most: number = MOST) {
  const list = z
    .array(z.unknown())
    .max(most)
    .transform((given, context): z.output<Item>[] => {
      const read: z.output<Item>[] = []
      for (const one of given) {
        const { success, data, error } = item.safeParse(one)
        if (!success) return refuse(context, error)
        read.push(data)
      }
      return read
    })
  return withParts(list, { '[]': item })
}

/** Schema of a record of up to `MOST` entries, for the reason of `listOf`. */
export function recordOf<Value extends z.ZodType>(key: z.ZodType<string>, value: Value) {
  const record = z.custom<object>(isShortRecord, 'must be an object of few entries').transform((given, context) => {
    const read: Record<string, z.output<Value>> = {}
    for (const [name, one] of Object.entries(given)) {
      const named = key.safeParse(name)
      const { success, data, error } = value.safeParse(one)
      if (!named.success) return refuse(context, named.error)
      if (!success) return refuse(context, error)
      // Plain assignment would treat the name `__proto__` specially.
      Object.defineProperty(read, named.data, { value: data, enumerable: true, writable: true, configurable: true })
    }
    return read
  })
  return withParts(record, { '{key}': key, '{}': value })
}

function isShortRecord(given: unknown): boolean {
  return typeof given === 'object' && given !== null && !Array.isArray(given) && Object.keys(given).length <= MOST
}

function refuse({ issues }: z.core.$RefinementCtx, error: z.ZodError): never {
  const [first] = error.issues
  issues.push({ code: 'custom', message: first?.message ?? 'is not valid', input: undefined, path: first?.path ?? [] })
  return z.NEVER
}
