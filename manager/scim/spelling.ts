/** Names of the attributes that Berth reads, as RFC 7643 spells them. Clients may use any case (section 2.1). */
const NAMES: ReadonlyMap<string, string> = new Map(
  [
    ...['userName', 'externalId', 'displayName', 'name', 'formatted', 'familyName', 'givenName', 'middleName'],
    ...['active', 'emails', 'members', 'value', 'type', 'primary'],
  ].map(name => [name.toLowerCase(), name]),
)

/** The name as the RFC spells it; a name that Berth does not read stays as it is. */
export const spelling = (name: string): string => NAMES.get(name.toLowerCase()) ?? name

/** A value whose attributes, also those of values in lists, are spelled as in the RFC. */
export function spelled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(spelled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [spelling(name), spelled(inner)]))
}
