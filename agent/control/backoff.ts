const FIRST_MS = 200
const LONGEST_MS = 10_000
/** Longest delay to a manager on this machine: no crowd of agents reconnects to it, and sessions should be back within seconds. */
const LONGEST_LOCAL_MS = 400

/**
 * Full jitter: a random delay between 0 and an exponentially growing bound, so that agents that lost the same manager do not
 * reconnect in step.
 *
 * @see "Exponential Backoff And Jitter", AWS Architecture Blog, 2015
 *
 * @param attempt 0 for the first retry
 * @param random in [0, 1)
 */
export function backoffMs(attempt: number, random: number, { local }: { readonly local: boolean }): number {
  const longest = local ? LONGEST_LOCAL_MS : LONGEST_MS
  return Math.floor(random * Math.min(longest, FIRST_MS * 2 ** Math.min(attempt, 20)))
}
