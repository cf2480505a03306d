import { createSemaphore } from '#base/semaphore'
import { type Work } from './on-behalf.ts'

/** Connections that one person can never have, and that the first connections of all people together leave. */
const LEFT_TO_OTHERS = 2

/**
 * Waits for the permit to use a connection. A piece of work that has a connection may need a further one before it gives that back: so half
 * are not the end for it, and the first ones of all people together leave some, or all could wait for each other.
 *
 * @param most connections of the pool
 */
export function createPermits(most: number): (work: Work | undefined, signal: AbortSignal) => Promise<() => void> {
  const permits = createSemaphore(most)
  /** For the first connections of all work that is for people. */
  const firstPermits = createSemaphore(Math.max(1, most - LEFT_TO_OTHERS))
  const mostOfOne = Math.max(1, Math.floor(most / 2))
  const mostNested = Math.max(mostOfOne + 1, most - LEFT_TO_OTHERS)

  return async function permitFor(work, signal) {
    if (!work) return await permits.take('', { signal })
    const { who, connections } = work
    if (connections > 0) return await permits.take(who, { most: mostNested, signal })
    const leaveFirst = await firstPermits.take(who, { most: mostOfOne, signal })
    try {
      const leave = await permits.take(who, { most: mostOfOne, signal })
      return () => {
        leave()
        leaveFirst()
      }
    } catch (error) {
      leaveFirst()
      throw error
    }
  }
}
