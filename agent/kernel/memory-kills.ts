/** Time within which one kernel's kills are told once: a program may be started again and again. */
const QUIET_MS = 10_000
/** Number of kernels that are remembered; those of long ago make room. */
const MOST = 1_000

/**
 * Decides which of the engine's `oom` events are told to the managers.
 *
 * @returns whether the kill of a program in this kernel is news
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
