import { type Session } from '#manager/contract'

/**
 * Result of a session; null before its end. A command that was killed, or never ran, has not succeeded, whatever its exit code. Pure.
 * @param exitCode of the main kernel
 */
export function resultOf({
  status,
  reason,
  exitCode,
}: Pick<Session, 'status' | 'reason'> & { exitCode: number | null }): Session['result'] {
  if (status !== 'TERMINATED' && status !== 'ERROR' && status !== 'CANCELLED') return null
  return status === 'TERMINATED' && reason.code === 'exited' && exitCode === 0 ? 'success' : 'failure'
}
