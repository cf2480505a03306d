import { setTimeout as delay } from 'node:timers/promises'
import { type AppError, ERRORS, isAppError } from '#manager/contract'

const SHORTEST_MS = 250
const LONGEST_MS = 10_000

interface Poll<T> {
  readonly first: T
  readonly ask: (last: T) => Promise<T>
  readonly done: (now: T) => boolean
  /** Ends the polling early, with the last known result; pass it to the request as well. */
  readonly signal?: AbortSignal
  /** Called with each temporary failure, once per kind. */
  readonly note: (text: string) => void
}

/**
 * Polls until it is done. Temporary failures (a manager that restarts, a rate limit) are waited out, however long they take.
 *
 * @returns the last result; check `signal` before you consider it done
 *
 * @throws the permanent error of `ask`
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

/**
 * Pause before the next poll, in milliseconds: a tenth of the time waited so far, within limits. It is short at first, and after
 * hours the polls are still far below a keypair's rate limit.
 */
export function pauseAfter(waitedMs: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, waitedMs / 10))
}

const mayMend = (error: unknown): error is AppError => isAppError(error) && ERRORS[error.code].retry

function retryAfterMs({ detail }: AppError): number {
  return typeof detail.retryAfterSeconds === 'number' ? detail.retryAfterSeconds * 1000 : 0
}
