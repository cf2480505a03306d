import { isFinished, type Session } from './sessions.ts'

/** Of a start-up command, in characters. */
const SHOWN_LENGTH = 200

/**
 * What to read in place of a log without a line: what ran in the containers of a session, and how it ended. Two sentences or three,
 * for the user of the session.
 */
export function emptyLogText(session: Pick<Session, 'startupCommand' | 'status' | 'reason' | 'startedAt'>): string {
  const { startupCommand, status, reason, startedAt } = session
  const end = isFinished(status) ? ` ${reason.message}` : ''
  if (startedAt === null)
    return isFinished(status) ? `The session never ran.${end}` : 'The session has not started yet.'
  const command = startupCommand?.trim() ?? ''
  if (command === '') {
    const elsewhere = 'Terminals, notebooks and apps keep their own output.'
    return `The session has no start-up command, and the program of its image (CMD, ENTRYPOINT) does not run in a session. ${elsewhere}${end}`
  }
  const shown = command.length > SHOWN_LENGTH ? `${command.slice(0, SHOWN_LENGTH)}…` : command
  return `The start-up command has written nothing: ${shown}${/[.!?…]$/.test(shown) ? '' : '.'}${end}`
}
