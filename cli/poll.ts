import { setTimeout as delay } from 'node:timers/promises'
import { type AppError, ERRORS, isAppError } from '#manager/contract'

const SHORTEST_MS = 250
const LONGEST_MS = 10_000

interface Poll<T> {
  readonly first: T
  readonly ask: (last: T) => Promise<T>
  readonly done: (now: T) => boolean
  /** Ends it early, with what was last known; hand it to the request as well. */
  readonly signal?: AbortSignal
  /** Is told what it has to wait out, each kind once. */
  readonly note: (text: string) => void
}

/**
 * Asks until it is done. What may mend itself (a manager that restarts, a limit of requests) is waited out, however long it takes.
 *
 * @returns where it is now; look at `signal` before you take it for done
 * @throws what `ask` failed with for good
 */
export async function pollUntil<T>({ first, ask, done, signal, note }: Poll<T>): Promise<T> {
  const startedAt = performance.now()
  const told = new Set<string>()
  let now = first
  let notBeforeMs = 0
  while (!done(now)) {
    const pauseMs = Math.max(pauseAfter(performance.now() - startedAt), notBeforeMs)
    await delay(pauseMs, undefined, signal ? { signal } : {}).catch(() => undefined)
    if (signal?.aborted) return now
    notBeforeMs = 0
    try {
      now = await ask(now)
    } catch (error) {
      if (signal?.aborted) return now
      if (!mayMend(error)) throw error
      notBeforeMs = retryAfterMs(error)
      if (!told.has(error.code)) note(`Still waiting: ${error.message} (${error.code})`)
      told.add(error.code)
    }
  }
  return now
}

/** A tenth of the time waited so far: quick at first, and hours of it stay far below the requests that a keypair may send. */
export function pauseAfter(waitedMs: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waitedMs / 10))
}

const mayMend = (error: unknown): error is AppError => isAppError(error) && ERRORS[error.code].retry

function retryAfterMs({ detail }: AppError): number {
  return typeof detail.retryAfterSeconds === 'number' ? detail.retryAfterSeconds * 1000 : 0
}
