import { LOG_CUT } from '#agent/contract'

/** Length of the end of a log that is stored, with the note. */
const MOST_CHARACTERS = 64 * 1024

/** The end of a log as it is stored: whole lines, after a note if anything is missing before them. */
export function keptLog({ text, truncated }: { readonly text: string; readonly truncated: boolean }): string {
  const plain = text.toWellFormed().replaceAll('\0', '')
  const wasCut = isCut(plain)
  const own = wasCut ? plain.slice(LOG_CUT.length + 1) : plain
  const room = MOST_CHARACTERS - LOG_CUT.length - 1
  if (own.length > room) return `${LOG_CUT}\n${fromLine(own.slice(-room)).toWellFormed()}`
  return truncated || wasCut ? `${LOG_CUT}\n${own}` : own
}

/** Whether a stored log is only the end of it. */
export const isCut = (stored: string): boolean => stored.startsWith(`${LOG_CUT}\n`)

/** The text from its first whole line on; all of it if no line begins in it. */
function fromLine(text: string): string {
  const lineEnd = text.indexOf('\n')
  return lineEnd >= 0 && lineEnd < text.length - 1 ? text.slice(lineEnd + 1) : text
}
