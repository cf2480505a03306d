import { ERRORS, isAppError } from '#manager/contract'

/** Stable: scripts depend on them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notAuthorised: 3, notFound: 4 } as const

const BY_STATUS: Readonly<Record<number, number>> = {
  400: EXIT.usage,
  401: EXIT.notAuthorised,
  403: EXIT.notAuthorised,
  404: EXIT.notFound,
}

/** The exit code that a failure deserves; anything unknown counts as failed. */
export function exitCodeOf(error: unknown): number {
  if (!isAppError(error)) return EXIT.failed
  return BY_STATUS[ERRORS[error.code].status] ?? EXIT.failed
}
