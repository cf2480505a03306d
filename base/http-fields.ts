/** Fields of HTTP requests as manager and console both read them. */

/**
 * Whether an If-None-Match field names the content with this ETag, or any content.
 *
 * @see RFC 9110 section 13.1.2
 */
export const namesEtag = (field: string | undefined, etag: string): boolean =>
  field === '*' || listOf(field).some(known => known.replace(/^W\//, '') === etag)

/** Codings of an Accept-Encoding field in lower case, except those with weight 0. @see RFC 9110 section 12.5.3 */
export function codingsOf(field: string | undefined): ReadonlySet<string> {
  const entries = listOf(field).map(entry => entry.toLowerCase().split(';', 2))
  const taken = entries.filter(([, weight = '']) => !/^\s*q=0(\.0*)?\s*$/.test(weight))
  return new Set(taken.map(([name = '']) => name.trim()))
}

function listOf(field: string | undefined): string[] {
  return field?.split(',').map(entry => entry.trim()) ?? []
}
