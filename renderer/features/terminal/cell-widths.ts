import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes'
import { type IUnicodeVersionProvider, type Terminal } from '@xterm/xterm'

/**
 * Makes the terminal count cells as tmux in the session does: two for an emoji, including one made of several characters. By default
 * xterm.js uses the widths of Unicode 6: one cell, so that redrawn parts of such a line would be misplaced. A cell gets no more characters than
 * one of tmux.
 */
export function countCellsLikeTmux(terminal: Terminal): void {
  terminal.unicode.register(limitJoined(widthsOfTmux(graphemes())))
  terminal.unicode.activeVersion = VERSION
}

const VERSION = 'tmux'
/** Characters that take two cells in tmux and one in the add-on: what can have a colour of skin, and hexagrams (wide since Unicode 16). */
const WIDE = /^[\p{Emoji_Modifier_Base}\u2630-\u2637\u268A-\u268F\u4DC0-\u4DFF]$/u
const FIRST_WIDE = 0x261d
/** Where a value of `charProperties` of xterm.js says that the character joins the one before, and where it has the width. */
const JOINS = 1
const [WIDTH_MASK, ONE_CELL, TWO_CELLS] = [6, 2, 4]
/** Most characters that join another one: a cell of tmux has 32 bytes, and these have two or more. */
const MOST_JOINED = 16
/** Bits above those that the add-on uses: how many characters have joined. */
const COUNT_AT = 20

/** The add-on's widths. It registers them at the terminal that it is loaded into and gives them out in no other way. */
function graphemes(): IUnicodeVersionProvider {
  const found: IUnicodeVersionProvider[] = []
  const register = (widths: IUnicodeVersionProvider) => found.push(widths)
  const catcher: Pick<Terminal, 'unicode'> = { unicode: { register, versions: [], activeVersion: '' } }
  new UnicodeGraphemesAddon().activate(catcher as Terminal)
  const widths = found.find(({ version }) => version === '15-graphemes')
  if (!widths) throw new Error('the add-on has no widths of graphemes')
  return widths
}

function widthsOfTmux(widths: IUnicodeVersionProvider): IUnicodeVersionProvider {
  return {
    version: VERSION,
    wcwidth: code => (isWide(code) ? 2 : widths.wcwidth(code)),
    charProperties: (code, preceding) => {
      const properties = widths.charProperties(code, preceding)
      const narrow = (properties & (WIDTH_MASK | JOINS)) === ONE_CELL
      return narrow && isWide(code) ? (properties & ~WIDTH_MASK) | TWO_CELLS : properties
    },
  }
}

function isWide(code: number): boolean {
  return code >= FIRST_WIDE && WIDE.test(String.fromCodePoint(code))
}

/**
 * Lets no more characters join another one than tmux does; the next one gets a cell of its own.
 *
 * Threat model: a session may be hostile, and its terminal is read by whoever may enter it. A browser needs minutes for a cell with very many marks,
 * joiners or Hangul letters. They are counted where xterm.js joins them: it skips some characters of its input, such as U+FEFF, so marks that
 * are apart in the input may still join one letter.
 */
function limitJoined(widths: IUnicodeVersionProvider): IUnicodeVersionProvider {
  return {
    version: widths.version,
    wcwidth: code => widths.wcwidth(code),
    charProperties(code, preceding) {
      const count = preceding >> COUNT_AT
      const properties = widths.charProperties(code, preceding & (2 ** COUNT_AT - 1))
      if ((properties & JOINS) === 0) return properties
      return count < MOST_JOINED ? properties | ((count + 1) << COUNT_AT) : widths.charProperties(code, 0)
    },
  }
}
