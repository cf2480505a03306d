/** Header fields as in Node's `rawHeaders`: name, value, name, value… Order, case and repetition are kept. */
export type RawHeaders = readonly string[]

/** RFC 9110 section 7.6.1: these belong to one connection and are not forwarded. The code that upgrades handles `Upgrade`. */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * Fields that are kept even if Connection names them. Without its length, a body would be written unframed on a connection
 * shared with requests of others, and its author would control the next request on it (request smuggling).
 */
const NEVER_OF_ONE_HOP = new Set(['content-length', 'host', 'origin'])

/** Keeps, drops or changes fields: the function gets the lower-case name and the value, and returns the new value or undefined. */
export function mapHeaders(raw: RawHeaders, change: (name: string, value: string) => string | undefined): string[] {
  const kept: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? ''
    const value = change(name.toLowerCase(), raw[i + 1] ?? '')
    if (value !== undefined) kept.push(name, value)
  }
  return kept
}

/** Header fields without those of this hop, including those that Connection names. */
export function endToEnd(raw: RawHeaders): string[] {
  const named = namedByConnection(raw)
  return mapHeaders(raw, (name, value) => (HOP_BY_HOP.has(name) || named?.has(name) === true ? undefined : value))
}

/** Lower-case names that Connection lists; undefined if the field is missing or only says the usual, as in most requests. */
function namedByConnection(raw: RawHeaders): Set<string> | undefined {
  let named: Set<string> | undefined
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? ''
    if (name.length !== 'connection'.length || name.toLowerCase() !== 'connection') continue
    const value = (raw[i + 1] ?? '').toLowerCase()
    if (value === 'keep-alive' || value === 'close') continue
    named ??= new Set()
    for (const token of value.split(',')) named.add(token.trim())
  }
  for (const name of NEVER_OF_ONE_HOP) named?.delete(name)
  return named
}

/**
 * The framing of a request body, to be forwarded: without it a body-less POST would become chunked, and a chunked one would
 * lose its framing.
 */
export function bodyFraming(raw: RawHeaders): string[] {
  return hasField(raw, name => name === 'transfer-encoding') ? ['Transfer-Encoding', 'chunked'] : []
}

export function hasBody(raw: RawHeaders): boolean {
  return hasField(
    raw,
    (name, value) => name === 'transfer-encoding' || (name === 'content-length' && value.trim() !== '0'),
  )
}

function hasField(raw: RawHeaders, matches: (name: string, value: string) => boolean): boolean {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (matches((raw[i] ?? '').toLowerCase(), raw[i + 1] ?? '')) return true
  }
  return false
}
