import { DEFAULT_TIMINGS } from './timings.ts'
import { type MortalKernel } from '../store/sessions/occupants.ts'
import { type LongestHold } from './plan/index.ts'

const { scheduledMs, preparingMs, pullingMs, replyMarginMs, terminatingMs } = DEFAULT_TIMINGS
/** Longest time from a plan to the row that says SCHEDULED. */
const COMMIT_MS = 5_000
/** Longest time from that row to RUNNING if the image is present: until the agent gets the request, and its time to start. */
const START_MS = scheduledMs + preparingMs + replyMarginMs
/** Longest time from the due end until the slots are free: SIGTERM, grace period, removal of the container. */
const END_MS = terminatingMs

/**
 * Latest time at which the slots of a kernel become free; null if unknown, and if that time has passed and the kernel still exists. The
 * result never moves to a later time: for a kernel that has not started yet, it includes the longest time that the start may take.
 *
 * @param images digests of the images that the agent holds
 * @returns milliseconds since the epoch
 */
export function latestEndOf(kernel: MortalKernel, images: ReadonlySet<string> = new Set()): number | null {
  const due = kernel.expiresAt?.getTime() ?? latestStartOf(kernel, images) + kernel.maxLifetimeSeconds * 1000
  const end = due + END_MS
  return end > kernel.now.getTime() ? end : null
}

function latestStartOf({ startBy, statusAt, imageDigest }: MortalKernel, images: ReadonlySet<string>): number {
  if (startBy) return startBy.getTime()
  const isThere = imageDigest !== null && images.has(imageDigest)
  return statusAt.getTime() + START_MS + (isThere ? 0 : pullingMs)
}

/** Longest time that a session placed now holds its slots; null if unknown. */
export function longestHold(maxLifetimeSeconds: number | null): LongestHold | null {
  if (maxLifetimeSeconds === null) return null
  const imageThereMs = COMMIT_MS + START_MS + maxLifetimeSeconds * 1000 + END_MS
  return { imageThereMs, imagePulledMs: imageThereMs + pullingMs }
}
