import { DEFAULT_TIMINGS } from './timings.ts'
import { type MortalKernel } from '../store/sessions/occupants.ts'
import { type LongestHold } from './plan/index.ts'

const { scheduledMs, preparingMs, pullingMs, replyMarginMs, terminatingMs } = DEFAULT_TIMINGS
/** From a plan to the row that says SCHEDULED. */
const COMMIT_MS = 5_000
/** From that row to running, with the image at hand: until its agent is asked, and what that is given. */
const START_MS = scheduledMs + preparingMs + replyMarginMs
/** From its end being due to its slots being free: SIGTERM, grace, and the removal of the container. */
const END_MS = terminatingMs

/**
 * When what a kernel holds is free at the latest; null where nobody knows, as where it should be gone and is not. Never
 * later than said before: what has not started yet is counted with all the time that its start may take.
 *
 * @param images that its agent holds
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

/** How long a session that is placed now holds its slots at the longest; null where nobody knows. */
export function longestHold(maxLifetimeSeconds: number | null): LongestHold | null {
  if (maxLifetimeSeconds === null) return null
  const imageThereMs = COMMIT_MS + START_MS + maxLifetimeSeconds * 1000 + END_MS
  return { imageThereMs, imagePulledMs: imageThereMs + pullingMs }
}
