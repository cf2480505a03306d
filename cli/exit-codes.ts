import { CommanderError } from 'commander'
import { ERRORS, isAppError } from '#manager/contract'
import { Interrupted } from './interrupt.ts'

/** Stable: scripts depend on them. Interrupted commands end with 128 and the number of the signal, as in any shell. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notAuthorised: 3, notFound: 4, interrupted: 130 } as const

const BY_STATUS: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.notAuthorised,
  403: EXIT.notAuthorised,
  404: EXIT.notFound,
}

/** The exit code that what a command has thrown deserves; anything unknown counts as failed. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode
  // Of a prompt in which Ctrl-C was pressed.
  if (error instanceof Error && error.name === 'AbortError') return EXIT.interrupted
  // Commander ends --help and --version by a throw as well.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
  if (!isAppError(error)) return EXIT.failed
  return BY_STATUS[ERRORS[error.code].status] ?? EXIT.failed
}
