import { isFinished, type Session } from '#manager/contract'
import { reasonText } from '../../data/sessions/reason-text.ts'
import { t } from '../../words/en/detail.ts'

/** Longest part of a start-up command that is shown, in characters. */
const SHOWN_LENGTH = 200

/** Text in place of an empty log: what ran in the session's containers, and how the session ended. For `RichText`. */
export function emptyLogText(session: Pick<Session, 'startupCommand' | 'status' | 'reason' | 'startedAt'>): string {
  const { startupCommand, status, reason, startedAt } = session
  const end = isFinished(status) ? reasonText(reason) : ''
  if (startedAt === null) return end ? t('logNeverRan', { reason: end }) : t('logNotStarted')
  const command = startupCommand?.trim() ?? ''
  const shown = command.length > SHOWN_LENGTH ? `${command.slice(0, SHOWN_LENGTH)}…` : command
  const output = command === '' ? t('logNoCommand') : t('logNothingWritten', { command: shown })
  return [output, end].filter(Boolean).join(' ')
}
