import { AppError, because } from '#manager/contract'

/** A step of an update, or of leaving, that has failed, with the last line that its command has said. */
export function failed(
  cause: 'update_not_fetched' | 'update_not_unpacked' | 'update_not_started' | 'leave_not_started',
  error: unknown,
): AppError {
  const { stderr = '' } = error as { stderr?: string }
  const text = (stderr.trim().split('\n').at(-1) ?? '') || (error instanceof Error ? error.message : String(error))
  return new AppError('unavailable', because(cause, { text }), { cause: error })
}
