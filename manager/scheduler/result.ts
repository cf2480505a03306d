import { type Session } from '#manager/contract'

/**
 * How a session has ended: a command that was killed, or never ran, has not succeeded, whatever exit code it made of it.
 * Pure. @param exitCode of its main kernel
 */
export function resultOf({
  status,
  reason,
  exitCode,
}: Pick<Session, 'status' | 'reason'> & { exitCode: number | null }): Session['result'] {
  if (status !== 'TERMINATED' && status !== 'ERROR' && status !== 'CANCELLED') return null
  return status === 'TERMINATED' && reason.code === 'exited' && exitCode === 0 ? 'success' : 'failure'
}
