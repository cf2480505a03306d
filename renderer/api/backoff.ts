/**
 * Back-off with full jitter: a random pause up to a ceiling that doubles with every failure. The jitter keeps many pages
 * that lost the same server from reconnecting at the same instant.
 *
 * @param failures consecutive failures, from 1
 * @param random 0…1
 * @returns milliseconds, at least 200
 */
export function backoffMs(failures: number, random: number): number {
  const ceiling = Math.min(15_000, 500 * 2 ** Math.min(failures - 1, 10))
  return Math.max(200, Math.round(random * ceiling))
}
