/**
 * Full jitter: any time up to the ceiling, which doubles with every failure. Many pages that lost the same server do
 * not come back at the same instant.
 *
 * @param failures in a row, from 1
 * @param random 0…1
 * @returns milliseconds, at least 200
 */
export function backoffMs(failures: number, random: number): number {
  const ceiling = Math.min(15_000, 500 * 2 ** Math.min(failures - 1, 10))
  return Math.max(200, Math.round(random * ceiling))
}
