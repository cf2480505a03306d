/**
 * Characters whose place in a line depends on others: marks above letters, signs that join or part them, and what is written from right to left.
 * Unicode keeps whole ranges for scripts of that direction.
 */
const SLOW =
  /[\p{M}\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}\u200c-\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u
/** Most of these in one line; a page of a book has two thousand characters. */
const MOST_SLOW = 10_000

interface CutText {
  readonly text: string
  /** Whether something is left out. */
  readonly isCut: boolean
}

/**
 * Cuts lines that a browser would need minutes to lay out.
 *
 * Threat model: anybody who may write into a folder can write such a line, and so can a session into its log; whoever looks at it would lose the
 * tab. The time of a browser grows with the square of the number of such characters in a line; other long lines cost little.
 */
export function cutSlowLines(text: string): CutText {
  const lines = text.split('\n')
  const cut = lines.map(line => {
    const end = line.length > MOST_SLOW ? endOf(line) : line.length
    return end === line.length ? line : `${line.slice(0, end)}…`
  })
  const isCut = cut.some((line, at) => line !== lines[at])
  return { text: isCut ? cut.join('\n') : text, isCut }
}

function endOf(line: string): number {
  let slow = 0
  let at = 0
  for (const character of line) {
    if (SLOW.test(character) && ++slow > MOST_SLOW) return at
    at += character.length
  }
  return at
}
