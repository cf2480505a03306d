/**
 * The line break that keeps every byte of a text through an edit: `\r\n` if all its lines end so, else `\n`; then a stray `\r`
 * is a character like any other.
 */
export function lineBreakOf(text: string): '\r\n' | '\n' {
  return text.includes('\r\n') && !/(?<!\r)\n|\r(?!\n)/.test(text) ? '\r\n' : '\n'
}
