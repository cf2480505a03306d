import { jitteredMs } from '#base/backoff'

const SHORTEST_MS = 200

/**
 * Pause before a page connects again.
 *
 * @param failures consecutive failures, from 1
 * @param random in [0, 1)
 */
export function reconnectPauseMs(failures: number, random: number): number {
  return Math.max(SHORTEST_MS, jitteredMs(failures - 1, { firstMs: 500, longestMs: 15_000 }, random))
}
