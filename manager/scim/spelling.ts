import { invalid } from './scim-error.ts'

/** Names of the attributes that Berth reads, as RFC 7643 spells them. Clients may use any case (section 2.1). */
const NAMES: ReadonlyMap<string, string> = new Map(
  [
    ...['userName', 'externalId', 'displayName', 'name', 'formatted', 'familyName', 'givenName', 'middleName'],
    ...['active', 'emails', 'members', 'value', 'type', 'primary'],
  ].map(name => [name.toLowerCase(), name]),
)

/** The name as the RFC spells it; a name that Berth does not read stays as it is. */
export const spelling = (name: string): string => NAMES.get(name.toLowerCase()) ?? name

/** Levels of a request with operations on entries of lists, and some more. */
const MOST_LEVELS = 20

/** A value whose attributes, also those of values in lists, are spelled as in the RFC. @throws ScimError `invalidValue` if it is nested too deep */
export const spelled = (value: unknown): unknown => spelledAt(value, 1)

function spelledAt(value: unknown, level: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (level > MOST_LEVELS) throw invalid('The body is nested too deep.')
  if (Array.isArray(value)) return value.map(item => spelledAt(item, level + 1))
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [spelling(name), spelledAt(inner, level + 1)]))
}
