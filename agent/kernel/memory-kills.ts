/** Time within which kills in one kernel are reported once: a program may be started again and again. */
const QUIET_MS = 10_000
/** Number of kernels that are remembered; when there are more, the oldest are forgotten. */
const MOST = 1_000

/**
 * Decides which of the engine's `oom` events are reported to the managers.
 *
 * @returns whether the kill of a program in this kernel should be reported
 */
export function createMemoryKills(now: () => number): (kernelId: string) => boolean {
  const told = new Map<string, number>()
  return kernelId => {
    if (now() - (told.get(kernelId) ?? -Infinity) < QUIET_MS) return false
    told.delete(kernelId)
    told.set(kernelId, now())
    const [oldest] = told.keys()
    if (told.size > MOST && oldest !== undefined) told.delete(oldest)
    return true
  }
}
