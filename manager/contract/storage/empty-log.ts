import { isFinished, type Session } from '../sessions/sessions.ts'

/** Longest part of a start-up command that is shown, in characters. */
const SHOWN_LENGTH = 200

/**
 * Text in place of an empty log: what ran in the containers of the session, and how the session ended. Two or three
 * sentences for the user of the session.
 */
export function emptyLogText(
  session: Pick<Session, 'startupCommand' | 'runImageCommand' | 'status' | 'reason' | 'startedAt'>,
): string {
  const { startupCommand, runImageCommand, status, reason, startedAt } = session
  const end = isFinished(status) ? ` ${reason.message}` : ''
  if (startedAt === null)
    return isFinished(status) ? `The session never ran.${end}` : 'The session has not started yet.'
  const command = startupCommand?.trim() ?? ''
  if (runImageCommand) return `The program of the image has written nothing.${end}`
  if (command === '') {
    const elsewhere = 'The output of terminals, notebooks and apps is not in this log.'
    return `The session has no start-up command. The program of the image (ENTRYPOINT, CMD) runs only if that is chosen at launch. ${elsewhere}${end}`
  }
  const shown = command.length > SHOWN_LENGTH ? `${command.slice(0, SHOWN_LENGTH)}…` : command
  return `The start-up command has written nothing: ${shown}${/[.!?…]$/.test(shown) ? '' : '.'}${end}`
}
