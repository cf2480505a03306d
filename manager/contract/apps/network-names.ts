/** Names of the internet that a session may reach, and how lists of them relate. Pure; loads no schemas. */

/** Most names in one list. */
export const MOST_ALLOWED_NAMES = 64
/** Longest entry: a name of 253 characters (RFC 1035), and `*.` before it. */
export const MOST_NAME = 255

/**
 * A host name of two labels or more, or `*.` and such a name; no address, and no name of a single label, which would be a host of the
 * local network. A last label of digits alone would be read as an address (WHATWG URL, 3.5).
 */
export const ALLOWED_NAME =
  /^(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+(?!\d+$|0x[\da-f]*$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i

/** `full`: like any program of the host. `none`: nothing outside the session. `allowlist`: HTTP(S) to these names, through a proxy. */
export const NETWORK_MODES = ['full', 'none', 'allowlist'] as const
export type NetworkMode = (typeof NETWORK_MODES)[number]

/** Names that may be reached; undefined: everything. An empty list: nothing. */
export type AllowedNames = readonly string[] | undefined

/**
 * Whether an entry of a list covers a name, or another entry. `*.example.org` covers every name below example.org, at any depth, but not
 * example.org itself; an entry without a star covers itself alone. Letter case does not count.
 */
export function coversName(entry: string, name: string): boolean {
  const [pattern, asked] = [entry.toLowerCase(), name.toLowerCase()]
  if (pattern === asked) return true
  return pattern.startsWith('*.') && asked.replace(/^\*\./, '').endsWith(pattern.slice(1))
}

/** Entries of the request that the bound does not allow; the whole of an unlimited request is `undefined`. */
export function beyondBound(asked: AllowedNames, bound: AllowedNames): AllowedNames {
  if (bound === undefined) return []
  return asked?.filter(name => !bound.some(entry => coversName(entry, name)))
}

/** The names that both lists allow. */
export function commonNames(one: AllowedNames, other: AllowedNames): AllowedNames {
  if (one === undefined || other === undefined) return one ?? other
  const within = (names: readonly string[], bound: readonly string[]) =>
    names.filter(name => bound.some(entry => coversName(entry, name)))
  return [...new Set([...within(one, other), ...within(other, one)])]
}

/** The entries that count, as they are kept: lower case, each once. */
export const keptNames = (names: readonly string[]): string[] => [...new Set(names.map(name => name.toLowerCase()))]
