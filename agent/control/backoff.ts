const FIRST_MS = 200
const LONGEST_MS = 10_000

/**
 * Full jitter: anything between 0 and an exponentially growing bound, so that agents that lost the same manager do not come back in
 * step.
 * @see "Exponential Backoff And Jitter", AWS Architecture Blog, 2015
 * @param attempt 0 for the first retry   @param random in [0, 1)
 */
export function backoffMs(attempt: number, random: number): number {
  return Math.floor(random * Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 20)))
}
