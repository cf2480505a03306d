/** Shapes of received values, for code that loads no schemas. */

/** Lower-case UUIDs (version 7 where we make them, so that they sort by age). */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/**
 * Whether a name has the form of an id, in any letter case. Requests name things by id or by name, so such a name could be taken for an id.
 */
export const isLikeId = (name: string): boolean => UUID.test(name.toLowerCase())

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}
