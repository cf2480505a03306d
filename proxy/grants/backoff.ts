import { untilAborted } from '#base/within'

export interface Backoff {
  /** Resolves after the current delay, which all concurrent callers share. Rejects when the signal aborts. */
  wait(signal: AbortSignal): Promise<void>
  /** Call after a success: the next delay is the shortest again. */
  reset(): void
  /** Call when something has changed (network back, signed in again): all waiters continue at once. */
  wake(): void
}

/**
 * Delays double from `minMs` to `maxMs`. All share one timer, so that 64 waiting connections retry once, not at 64 different
 * times.
 */
export function createBackoff({ minMs, maxMs }: { readonly minMs: number; readonly maxMs: number }): Backoff {
  let delayMs = minMs
  let pending: { readonly done: Promise<void>; readonly finish: () => void } | undefined

  function start() {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const finish = () => {
      clearTimeout(timer)
      pending = undefined
      resolve(undefined)
    }
    const timer = setTimeout(finish, delayMs)
    delayMs = Math.min(delayMs * 2, maxMs)
    return { done: promise, finish }
  }

  return {
    async wait(signal) {
      signal.throwIfAborted()
      pending ??= start()
      await untilAborted(pending.done, signal)
    },
    reset() {
      delayMs = minMs
    },
    wake() {
      delayMs = minMs
      pending?.finish()
    },
  }
}
