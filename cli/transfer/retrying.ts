import { setTimeout as delay } from 'node:timers/promises'
import { backoffMs } from '#base/backoff'
import { ERRORS, isAppError } from '#manager/contract'

/** A transfer that has made no progress for this long is given up; it can be continued by the same command. */
const PATIENCE_MS = 10 * 60_000
const PAUSES = { firstMs: 200, longestMs: 10_000 } as const

export interface Retrying {
  readonly signal: AbortSignal
  /** Number that grows while the transfer makes progress. */
  readonly progress: () => number
  /** Called before a pause. */
  readonly onPause: (error: Error) => void
}

/** Repeats an attempt until it succeeds, or fails for a reason that will not go away. */
export async function retrying<T>(attempt: () => Promise<T>, { signal, progress, onPause }: Retrying): Promise<T> {
  let failures = 0
  let reached = -1
  let movedAt = performance.now()
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      if (!isAppError(error) || !ERRORS[error.code].retry) throw error
      if (progress() > reached) {
        reached = progress()
        failures = 0
        movedAt = performance.now()
      }
      if (performance.now() - movedAt > PATIENCE_MS) throw error
      onPause(error)
      await delay(backoffMs(failures++, PAUSES), undefined, { signal }).catch(() => undefined)
      signal.throwIfAborted()
    }
  }
}
