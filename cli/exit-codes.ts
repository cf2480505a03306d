import { ERRORS, isAppError } from '#manager/contract'

/** Stable: scripts depend on them. */
export const EXIT = { ok: 0, failed: 1, usage: 2, notAuthorised: 3, notFound: 4 } as const

/** The exit code that a failure deserves; anything unknown counts as failed. */
export function exitCodeOf(error: unknown): number {
  if (!isAppError(error)) return EXIT.failed
  switch (ERRORS[error.code].status) {
    case 400:
      return EXIT.usage
    case 401:
    case 403:
      return EXIT.notAuthorised
    case 404:
      return EXIT.notFound
    default:
      return EXIT.failed
  }
}
