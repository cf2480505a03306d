/**
 * Characters that change what a reader sees, or what a terminal does: C0 and C1 controls, marks that turn the direction of
 * writing (Unicode UAX 9), and invisible ones.
 */
const UNSAFE = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/gu

/** Turns text from another party into one safe line: cut, white space collapsed, unsafe characters removed. */
export function cleanLine(text: string, maxLength = 500): string {
  return text.slice(0, maxLength).toWellFormed().replace(/\s+/g, ' ').replace(UNSAFE, '')
}

/**
 * Turns text from another party into safe lines: cut, unsafe characters removed. Line breaks and spaces stay, and a tab
 * becomes two spaces.
 */
export function cleanLines(text: string, maxLength = 10_000): string {
  const lines = text.slice(0, maxLength).toWellFormed().split('\n')
  return lines.map(line => line.replaceAll('\t', '  ').replace(UNSAFE, '')).join('\n')
}
