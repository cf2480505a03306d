/**
 * The line break with which an edit keeps every byte of a text: `\r\n` if all lines end with it, else `\n`; a stray `\r` is then an
 * ordinary character.
 */
export function lineBreakOf(text: string): '\r\n' | '\n' {
  return text.includes('\r\n') && !/(?<!\r)\n|\r(?!\n)/.test(text) ? '\r\n' : '\n'
}
