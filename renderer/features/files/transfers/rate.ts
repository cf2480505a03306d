/** Bytes that were transferred up to a time. */
export interface RateSample {
  readonly atMs: number
  readonly bytes: number
}

const WINDOW_MS = 10_000

/** Adds a sample; drops those older than ten seconds or with more bytes (before a restart). */
export function addSample(samples: readonly RateSample[], next: RateSample): RateSample[] {
  const kept = samples.filter(({ atMs, bytes }) => next.atMs - atMs <= WINDOW_MS && bytes <= next.bytes)
  return [...kept, next]
}

/** Bytes per second over the samples; 0 until there are two. */
export function rateOf(samples: readonly RateSample[]): number {
  const first = samples[0]
  const last = samples.at(-1)
  if (!first || !last || last.atMs <= first.atMs) return 0
  return ((last.bytes - first.bytes) * 1000) / (last.atMs - first.atMs)
}

/** Milliseconds until the rest is transferred at this rate; null if unknown. */
export function timeLeftMs(restBytes: number, rate: number): number | null {
  if (restBytes <= 0) return 0
  return rate > 0 ? (restBytes / rate) * 1000 : null
}
