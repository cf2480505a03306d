/** First words that leave open what a comment is about: its reader has to read the code first, and then the comment again. */
const WITHOUT_SUBJECT = /^(What|Which|Who|Whose|Those|They|Their|It|Its|One|Of)\b(?!-)/
const FIRST_LINE = /^\s*(\/\*\*?|<!--|\/\/|--|\*)\s+(.*)$/

export interface VagueComment {
  /** Counts from 1. */
  readonly line: number
  readonly word: string
}

/**
 * Comments of a source whose first word is one of `WITHOUT_SUBJECT`. Comments behind code on the same line are left out: the code is
 * their subject. Comments of SQL in a source count.
 */
export function vagueComments(source: string): VagueComment[] {
  const lines = source.split('\n')
  return lines.flatMap((text, index) => {
    const [, mark = '', words = ''] = FIRST_LINE.exec(text) ?? []
    const word = WITHOUT_SUBJECT.exec(words)?.[1]
    return word !== undefined && begins(mark, lines[index - 1] ?? '') ? [{ line: index + 1, word }] : []
  })
}

/** Whether a line with this mark begins a comment, or goes on with that of the line before. */
function begins(mark: string, before: string): boolean {
  if (mark === '*') return /^\s*\/\*\*?\s*$/.test(before)
  return (mark !== '//' && mark !== '--') || !before.trimStart().startsWith(mark)
}
