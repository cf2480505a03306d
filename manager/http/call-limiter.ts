import { createOpenCounts } from '#base/open-counts'
import { AppError, because, type RouteName, type UserId } from '#manager/contract'

/**
 * Most calls of one person in progress at one manager. `any`: as many as the console forwards for one sign-in, so that further sign-ins
 * have no advantage. `long`: uploads and starts of apps, whose duration depends on the sender or an agent.
 */
export const CALL_LIMITS = { any: 256, long: 64 } as const

const RETRY_AFTER_SECONDS = 2
const STARTS: ReadonlySet<RouteName> = new Set<RouteName>(['startApp', 'createGrant', 'grantToProgram'])

export interface CallLimiter {
  /**
   * @param isUpload the body is read as a stream
   * @returns a function that ends counting the call
   * @throws AppError `rate_limited`
   */
  take(userId: UserId, call: { readonly route: RouteName; readonly isUpload: boolean }): () => void
}

/**
 * Limits the calls of a person over all sign-ins and keypairs.
 *
 * Threat model: a waiting call occupies a descriptor here, and one of the console's connections, which all people share. A person may sign
 * in any number of times, so a limit per sign-in has no effect.
 */
export function createCallLimiter(): CallLimiter {
  const counts = createOpenCounts()
  return {
    take(userId, { route, isUpload }) {
      const leave = counts.take(userId, CALL_LIMITS.any)
      if (!leave) throw tooMany(because('calls_of_person', { limit: CALL_LIMITS.any }))
      if (!isUpload && !STARTS.has(route)) return leave
      const leaveLong = counts.take(`long:${userId}`, CALL_LIMITS.long)
      if (leaveLong) {
        return () => {
          leaveLong()
          leave()
        }
      }
      leave()
      throw tooMany(because('lasting_calls_of_person', { limit: CALL_LIMITS.long }))
    },
  }
}

const tooMany = (why: ReturnType<typeof because>) =>
  new AppError('rate_limited', { ...why, whySaysNext: true, retryAfterSeconds: RETRY_AFTER_SECONDS })
