import { createOpenCounts } from '#base/open-counts'
import { AppError, because } from '#manager/contract'
import { type Caller } from '../users/authorize.ts'

const RETRY_AFTER_SECONDS = 5

/**
 * Limits the requests of one kind that one person has in flight.
 *
 * @returns takes a permit until it is disposed, or throws AppError `rate_limited`
 */
export function limitRequests(limit: number): (caller: Pick<Caller, 'userId'>) => Disposable {
  const counts = createOpenCounts()
  return ({ userId }) => {
    const leave = counts.take(userId, limit)
    if (leave) return { [Symbol.dispose]: leave }
    throw new AppError('rate_limited', {
      ...because('file_requests', { limit }),
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
}
