const HOUR_S = 3600
const DAY_S = 24 * HOUR_S

/** Seconds between attempts: eight attempts in about a day. */
const PAUSES_S: readonly number[] = [5, 5 * 60, 30 * 60, 2 * HOUR_S, 5 * HOUR_S, 8 * HOUR_S, 8 * HOUR_S]

/** Answers that may say when to come back. */
const ASKS_TO_WAIT: ReadonlySet<number> = new Set([429, 503])

/**
 * Seconds until the next attempt of a delivery.
 *
 * @param attempts number of attempts so far, at least 1
 * @param random in [0, 1): up to a tenth longer, so that events that failed together do not come back together
 * @returns null: the delivery is given up
 */
export function pauseAfter(
  attempts: number,
  reply: { readonly status: number | null; readonly retryAfter: string | null },
  random: number,
): number | null {
  const pause = PAUSES_S[attempts - 1]
  if (pause === undefined) return null
  const asked = reply.status !== null && ASKS_TO_WAIT.has(reply.status) ? secondsOf(reply.retryAfter) : 0
  return Math.max(pause * (1 + random / 10), asked)
}

/** `Retry-After` in seconds, at most a day; a date is not read. RFC 9110 10.2.3 */
function secondsOf(retryAfter: string | null): number {
  return retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Math.min(Number(retryAfter), DAY_S) : 0
}
