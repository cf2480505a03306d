import { ERRORS, isAppError } from '#manager/contract/light'
import { isCommanderError } from './commander-error.ts'
import { Interrupted } from './interrupt.ts'

/**
 * Exit codes; stable, because scripts depend on them. Interrupted commands end with 128 plus the number of the signal, as in
 * any shell.
 */
export const EXIT = { ok: 0, failed: 1, usage: 2, notAuthorised: 3, notFound: 4, interrupted: 130 } as const

const BY_STATUS: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.notAuthorised,
  403: EXIT.notAuthorised,
  404: EXIT.notFound,
}

/** The exit code for an error thrown by a command; any unknown error counts as failed. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode
  // A prompt was aborted by Ctrl-C.
  if (error instanceof Error && error.name === 'AbortError') return EXIT.interrupted
  // Commander also ends --help and --version by throwing.
  if (isCommanderError(error)) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (!isAppError(error)) return EXIT.failed
  return BY_STATUS[ERRORS[error.code].status] ?? EXIT.failed
}
