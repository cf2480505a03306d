import { type Reason, type SessionId } from '#manager/contract'

/** The parts of a pending session on which its start time depends. */
interface Scheduled {
  readonly id: SessionId
  readonly starts_at: Date | null
}

/**
 * The pending sessions whose start time has not come, with the reason to wait. They are left out of planning: they have no position in the
 * queue and get no reservation. The slow tick of the scheduler finds them once their time has come. Pure.
 *
 * @param now the database's clock, in milliseconds since the epoch
 */
export function judgeStartTimes(pending: readonly Scheduled[], now: number): ReadonlyMap<SessionId, Reason> {
  return new Map(
    pending.flatMap(({ id, starts_at: startsAt }) =>
      startsAt !== null && startsAt.getTime() > now ? [[id, startsLater(startsAt)] as const] : [],
    ),
  )
}

export function startsLater(startsAt: Date): Reason {
  const notBefore = startsAt.toISOString()
  return { code: 'starts_later', message: `Scheduled: starts at ${notBefore} or later.`, notBefore }
}

/** The time at which a session joins the queue: its start time, or the time of the request if that is later. */
export function enqueuedAt({ created_at, starts_at }: { created_at: Date; starts_at: Date | null }): number {
  return Math.max(created_at.getTime(), starts_at?.getTime() ?? 0)
}
