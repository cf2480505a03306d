/** Pauses between attempts double from the first to the longest. */
export interface PauseRange {
  readonly firstMs: number
  readonly longestMs: number
}

/** @param failures consecutive failures before this pause, from 0 */
export function backoffMs(failures: number, { firstMs, longestMs }: PauseRange): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(failures, 30))
}

/**
 * Full jitter: a random pause up to the one of `backoffMs`, so that many clients that lost the same server do not come back in step.
 *
 * @see "Exponential Backoff And Jitter", AWS Architecture Blog, 2015
 *
 * @param failures consecutive failures before this pause, from 0
 * @param random in [0, 1)
 */
export function jitteredMs(failures: number, range: PauseRange, random: number): number {
  return Math.floor(random * backoffMs(failures, range))
}
