import { type IParser } from '@xterm/xterm'

/** Sequences that xterm.js carries out one by one, as often as their number says. */
const REPEATED = ['b', 'I', 'L', 'M', 'S', 'T', 'Z']
/** No terminal has more lines or columns than this. */
const MOST_TIMES = 1_000

/**
 * Ignores sequences that would be carried out very often.
 *
 * Threat model: a session may be hostile, and its terminal is read by whoever may enter it. The number of a sequence may be 2³¹: a dozen bytes would
 * freeze the page of the reader, or end the terminal in it for want of memory. tmux, from which the output comes, never sends such numbers itself.
 */
export function refuseEndlessRepeats(parser: Pick<IParser, 'registerCsiHandler'>): void {
  for (const final of REPEATED) {
    parser.registerCsiHandler({ final }, ([times]) => typeof times === 'number' && times > MOST_TIMES)
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
