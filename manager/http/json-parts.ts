/**
 * Most members, objects and lists of one body: `usual` for routes without a number of their own, `stranger` for those that need no sign-in.
 */
export const JSON_PARTS = { usual: 1_000, stranger: 100 } as const

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `:`, `[` and `{`. */
const PARTS: ReadonlySet<number> = new Set([0x3a, 0x5b, 0x7b])

/**
 * Whether a JSON text has more members, objects and lists than any request needs. Entries of lists do not count: schemas check the length
 * of a list before its entries.
 *
 * Threat model: parsing and checking members takes far longer than sending them, and nobody else is served meanwhile. So they are counted
 * in the text before it is parsed, in a single pass.
 */
export function hasManyJsonParts(json: string, most: number): boolean {
  let parts = 0
  let isText = false
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (isText) {
      if (char === BACKSLASH) at++
      else if (char === QUOTE) isText = false
    } else if (char === QUOTE) isText = true
    else if (PARTS.has(char) && ++parts > most) return true
  }
  return false
}
