import { type Terminal } from '@xterm/xterm'

/** Sequences that xterm.js carries out one by one, as often as their number says: by lines of the screen, and by columns. */
const REPEATED = { rows: ['L', 'M', 'S', 'T'], cols: ['I', 'Z', 'b'] } as const

/**
 * Ignores sequences that would be carried out more often than the screen has lines or columns.
 *
 * Threat model: a session may be hostile, and its terminal is read by whoever may enter it. The number of a sequence may be 2³¹: a dozen bytes would
 * freeze the page of the reader, or end the terminal in it for want of memory; so would some thousands of smaller numbers. tmux, from which the
 * output comes, sends none beyond its screen, except while the size changes, when it draws everything anew.
 */
export function refuseEndlessRepeats(terminal: Pick<Terminal, 'parser' | 'rows' | 'cols'>): void {
  for (const side of ['rows', 'cols'] as const) {
    for (const final of REPEATED[side]) {
      terminal.parser.registerCsiHandler({ final }, ([times]) => typeof times === 'number' && times > terminal[side])
    }
  }
}

/** Controls other than tab and line break. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/**
 * Text of the clipboard as a shell may get it.
 *
 * Threat model: a page on which somebody copies a command decides what is copied. Shells run nothing of a paste before Enter is pressed, because the
 * terminal marks where it begins and ends (bracketed paste); a mark within the text would end it earlier, and the next line would run at once.
 */
export const pastedText = (text: string): string => text.replace(CONTROLS, '')

/** Whether an address is one for a browser. Programs write the scheme in any case (RFC 3986, section 3.1). */
export const isWebLink = (url: string): boolean => /^https?:\/\//i.test(url)

/** Most characters of a title; tabs and title bars show fewer. */
const MOST_OF_TITLE = 200

/**
 * The title that a program in a session sets, as far as a tab shows it.
 *
 * Threat model: a session may be hostile, and xterm.js takes titles of ten megabytes. The browser would hand each to the window manager.
 */
export function shownTitle(title: string): string {
  // Each character has at most two code units, so the rest of a long title is not read.
  const characters = Array.from(title.slice(0, 2 * MOST_OF_TITLE + 2))
  return characters.length > MOST_OF_TITLE ? `${characters.slice(0, MOST_OF_TITLE).join('')}…` : title
}

/** Most characters that a program in a session may copy; tmux passes on about as much. */
const MOST_COPIED = 1024 * 1024

/**
 * Whether a program in a session may write to the clipboard now (OSC 52).
 *
 * Threat model: a session may be hostile, perhaps one of somebody else that the person only looks into. It could replace what the person
 * copies in other programs, at any time and from a tab behind, by a command for the next shell. So it may write only while the person is at
 * its terminal, as somebody who copies there is.
 *
 * @param box of the terminal
 */
export const mayCopy = (text: string, box: Pick<Node, 'contains'> | null, focused: Node | null): boolean =>
  text.length <= MOST_COPIED && focused !== null && box?.contains(focused) === true
