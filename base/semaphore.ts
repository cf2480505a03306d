import { createTurnQueue } from './turn-queue.ts'
import { type AbortSignalLike } from './within.ts'

export interface SemaphoreTake {
  /** This request waits until the user has, or waits in turn for, fewer permits. */
  readonly most?: number
  /** Ends the wait. */
  readonly signal?: AbortSignalLike | undefined
}

/** Bounds work in flight. The users who wait for a permit come one after another, however many each of them waits for. */
export interface Semaphore {
  /** Waits for a permit. @returns gives it back, once @throws the reason of the signal */
  take(user: string, options?: SemaphoreTake): Promise<() => void>
  /** @returns gives the permit back, once; undefined if none is free now */
  takeFree(user: string): (() => void) | undefined
}

export function createSemaphore(count: number): Semaphore {
  let free = count
  const waiting = createTurnQueue<() => void>()
  /** Permits that a user has or waits for, without those that wait behind their own. */
  const counts = new Map<string, number>()
  const behind = new Map<string, Map<() => void, number>>()

  function leave(user: string): void {
    const left = (counts.get(user) ?? 1) - 1
    if (left > 0) counts.set(user, left)
    else counts.delete(user)
    for (const [begin, most] of behind.get(user) ?? []) {
      if (left >= most) continue
      forget(user, begin)
      enter(user, begin)
      return
    }
  }

  function forget(user: string, begin: () => void): boolean {
    const own = behind.get(user)
    const isThere = own?.delete(begin) ?? false
    if (own?.size === 0) behind.delete(user)
    return isThere
  }

  function enter(user: string, begin: () => void): void {
    counts.set(user, (counts.get(user) ?? 0) + 1)
    if (free > 0) begin()
    else waiting.add(user, begin)
  }

  /** Takes a free permit of a user who is counted. */
  function permit(user: string): () => void {
    free--
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      // Before the permit is free: the user's next request comes after those of others.
      leave(user)
      free++
      waiting.next()?.()
    }
  }

  return {
    takeFree(user) {
      if (free === 0) return undefined
      counts.set(user, (counts.get(user) ?? 0) + 1)
      return permit(user)
    },
    take(user, { most = Infinity, signal } = {}) {
      return new Promise((resolve, reject) => {
        signal?.throwIfAborted()
        const begin = () => {
          signal?.removeEventListener('abort', abort)
          resolve(permit(user))
        }
        const abort = () => {
          if (!forget(user, begin) && waiting.delete(user, begin)) leave(user)
          reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'))
        }
        signal?.addEventListener('abort', abort, { once: true })
        if ((counts.get(user) ?? 0) < most) enter(user, begin)
        else behind.set(user, (behind.get(user) ?? new Map<() => void, number>()).set(begin, most))
      })
    },
  }
}
