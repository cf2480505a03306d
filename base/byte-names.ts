/**
 * Names of files as text. A name is any bytes except `/` and NUL. A byte of 0x80 and above that is no part of valid UTF-8 is written as
 * U+EF00 plus the byte (U+EF80 to U+EFFF). The bytes of these characters themselves are escaped in the same way, so that each name has its
 * own text, which turns back into the same bytes.
 */

const ESCAPE = 0xef00
const ESCAPED = /[\uef80-\uefff]/
const ESCAPED_ALL = /([\uef80-\uefff])/

/** Whether a name has bytes that are not valid UTF-8. */
export const hasRawBytes = (name: string): boolean => ESCAPED.test(name)

/** @param decode text of valid UTF-8; undefined for other bytes */
export function nameFromBytes(bytes: Uint8Array, decode: (bytes: Uint8Array) => string | undefined): string {
  const whole = decode(bytes)
  if (whole !== undefined && !ESCAPED.test(whole)) return whole
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const part = bytes.subarray(at, at + lengthOf(bytes[at] ?? 0))
    const char = decode(part)
    if (char !== undefined && char !== '' && !ESCAPED.test(char)) {
      text += char
      at += part.length
    } else {
      text += String.fromCharCode(ESCAPE + (bytes[at] ?? 0))
      at++
    }
  }
  return text
}

/** Length of the UTF-8 sequence that begins with this byte. */
function lengthOf(lead: number): number {
  return lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
}

/** Parts of a name, in order: text, and single bytes that are not text. */
export function partsOfName(name: string): (string | number)[] {
  if (!ESCAPED.test(name)) return [name]
  return name
    .split(ESCAPED_ALL)
    .filter(part => part !== '')
    .map(part => (ESCAPED.test(part) ? part.charCodeAt(0) - ESCAPE : part))
}
