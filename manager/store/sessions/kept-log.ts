import { LOG_CUT } from '#agent/contract'

/** Length of the stored end of a log, including the note. */
const MOST_CHARACTERS = 64 * 1024

/** The stored end of a log: whole lines, after a note if anything before them is missing. */
export function keptLog({ text, truncated }: { readonly text: string; readonly truncated: boolean }): string {
  const plain = text.toWellFormed().replaceAll('\0', '')
  const wasCut = isCut(plain)
  const own = wasCut ? plain.slice(LOG_CUT.length + 1) : plain
  const room = MOST_CHARACTERS - LOG_CUT.length - 1
  if (own.length > room) return `${LOG_CUT}\n${fromLine(own.slice(-room)).toWellFormed()}`
  return truncated || wasCut ? `${LOG_CUT}\n${own}` : own
}

/** Whether a stored log is only the end of the log. */
export const isCut = (stored: string): boolean => stored.startsWith(`${LOG_CUT}\n`)

/** The text from its first whole line on; all of it if no line begins in it. */
function fromLine(text: string): string {
  const lineEnd = text.indexOf('\n')
  return lineEnd >= 0 && lineEnd < text.length - 1 ? text.slice(lineEnd + 1) : text
}
