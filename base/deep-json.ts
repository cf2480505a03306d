/** Deeper than anything that Berth sends. */
const MOST_LEVELS = 200
/** Shorter text cannot take much memory, however deep it is. */
const SHORT = 1024 * 1024

/**
 * Whether JSON text has so many levels that nobody means it.
 *
 * Threat model: for each level that is open, `JSON.parse` holds some fifty bytes: sixty megabytes of `[` take three gigabytes.
 */
export function isTooDeep(text: string): boolean {
  if (text.length < SHORT) return false
  let levels = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (isInString) {
      if (character === '\\') at++
      else if (character === '"') isInString = false
    } else if (character === '"') isInString = true
    else if (character === '[' || character === '{') {
      if (++levels > MOST_LEVELS) return true
    } else if (character === ']' || character === '}') levels--
  }
  return false
}
