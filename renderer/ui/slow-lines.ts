import { t } from '../words/en/ui.ts'

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
 * tab. The time of a browser grows with the square of the number of such characters in a line; other long lines cost little. A cut line ends with
 * words that say so.
 */
export function cutSlowLines(text: string): CutText {
  const lines = text.split('\n')
  const cut = lines.map(line => cutSlowText(line))
  const isCut = cut.some((line, at) => line !== lines[at])
  return { text: isCut ? cut.join('\n') : text, isCut }
}

/** Cuts a text that is shown in one line, whatever line breaks it has. @param end of a cut text; left out: words that say so */
export const cutSlowText = (text: string, end?: string): string =>
  text.length > MOST_SLOW ? createLine(end).add(text) : text

/** Elements that begin a line of their own. */
const BLOCKS = new Set(
  (
    'ADDRESS ARTICLE ASIDE BLOCKQUOTE BR CAPTION DD DETAILS DIV DL DT FIGCAPTION FIGURE FOOTER FORM H1 H2 H3 H4 H5 H6 HEADER HR LI MAIN NAV OL ' +
    'P PRE SECTION SUMMARY TABLE TBODY TD TFOOT TH THEAD TR UL'
  ).split(' '),
)

/**
 * Cuts the text of HTML in the same way. The lines of its source do not count: a browser joins those of a paragraph, and a character may be
 * written as an entity.
 */
export function cutSlowBlocks(root: Element): void {
  const nodes = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT)
  let line = createLine()
  for (let node = nodes.nextNode(); node !== null; node = nodes.nextNode()) {
    const text = node.nodeValue
    if (text === null) {
      if (BLOCKS.has(node.nodeName)) line = createLine()
    } else if (SLOW.test(text)) {
      const parts = node.parentElement?.closest('pre') ? text.split('\n') : [text]
      const cut = parts.map((part, at) => {
        if (at > 0) line = createLine()
        return line.add(part)
      })
      node.nodeValue = cut.join('\n')
    }
  }
}

/** A line whose text comes in parts: each is cut where the line has too much. */
function createLine(end?: string): { add(part: string): string } {
  let slow = 0
  let isCut = false
  return {
    add(part) {
      let at = 0
      for (const character of part) {
        if (SLOW.test(character) && ++slow > MOST_SLOW) {
          const shown = `${part.slice(0, at)}${isCut ? '…' : (end ?? ` … ${t('cutHere')}`)}`
          isCut = true
          return shown
        }
        at += character.length
      }
      return part
    },
  }
}
