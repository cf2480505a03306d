import { AppError, because } from '#manager/contract'

const DAY_MS = 86_400_000
const MOST_DAYS = 365
/** A request that was in transit when its start time passed is not refused. */
const LATE_MS = 60_000

/**
 * Checks the start time of a request.
 *
 * @param now the database's clock, in milliseconds since the epoch
 * @throws AppError `bad_request`
 */
export function requireStartTime(startsAt: string | undefined, now: number): string | undefined {
  if (startsAt === undefined) return undefined
  const inMs = Date.parse(startsAt) - now
  if (inMs >= -LATE_MS && inMs <= MOST_DAYS * DAY_MS) return startsAt
  const message = inMs < 0 ? 'has passed' : `must be within ${MOST_DAYS} days`
  const why = inMs < 0 ? because('start_time_passed') : because('start_time_within', { days: MOST_DAYS })
  throw new AppError('bad_request', { ...why, fields: [{ path: 'startsAt', message }] })
}
