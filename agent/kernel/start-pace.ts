/** Number of containers that may start concurrently, and its last decrease. */
export interface PaceState {
  /** At least 1; fractions count up to the next whole number. */
  readonly limit: number
  /** Time of the last decrease, on the clock of `performance.now()`; starts in flight at that time do not lower the limit again. */
  readonly loweredAt: number
}

export type StartOutcome =
  | { readonly outcome: 'started'; readonly beganAt: number; readonly endedAt: number }
  /** The engine did not answer, or not in time. */
  | { readonly outcome: 'busy'; readonly beganAt: number; readonly endedAt: number }

export const FIRST_PACE: PaceState = { limit: 3, loweredAt: -Infinity }
const MOST_AT_ONCE = 16
/** An idle engine starts a container in a third of a second. */
const QUICK_MS = 2_000
const SLOW_MS = 8_000

/**
 * Additive increase, multiplicative decrease, as TCP finds the capacity of a path: per round, an engine that answers quickly
 * gets one more concurrent start, a slow engine gets fewer, and an engine that does not answer gets half as many. Pure.
 *
 * @see Chiu and Jain, "Analysis of the Increase and Decrease Algorithms for Congestion Avoidance", 1989
 */
export function nextPace(state: PaceState, { outcome, beganAt, endedAt }: StartOutcome): PaceState {
  const tookMs = endedAt - beganAt
  // Starts of one round meet the same overload: only the first failure counts.
  if (beganAt < state.loweredAt) return state
  const lower = (factor: number): PaceState => ({ limit: Math.max(1, state.limit * factor), loweredAt: endedAt })
  if (outcome === 'busy') return lower(0.5)
  if (tookMs > SLOW_MS) return lower(0.75)
  if (tookMs > QUICK_MS) return state
  return { ...state, limit: Math.min(MOST_AT_ONCE, state.limit + 1 / state.limit) }
}

export interface PaceDeps {
  readonly now: () => number
  /** Whether an error means that the engine did not answer. */
  readonly isBusy: (error: unknown) => boolean
  /** No start begins for this long after the engine failed to answer. */
  readonly pauseMs: number
}

/** Queues starts in the order of their requests, and runs as many concurrently as the engine can handle. */
export interface StartPace {
  /** @throws the error of the work; the reason of the signal, where it fires before the work begins */
  run<T>(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T>
  /** Number of starts ahead of this one, running or queued; undefined if this one does not wait. */
  ahead(key: string): number | undefined
}

interface Waiting {
  readonly key: string
  readonly begin: () => void
}

export function createStartPace({ now, isBusy, pauseMs }: PaceDeps): StartPace {
  let state = FIRST_PACE
  let running = 0
  let pausedUntil = -Infinity
  let timer: NodeJS.Timeout | undefined
  const queue: Waiting[] = []

  function beginNext(): void {
    const pauseLeftMs = pausedUntil - now()
    if (pauseLeftMs > 0) {
      timer ??= setTimeout(() => {
        timer = undefined
        beginNext()
      }, pauseLeftMs)
      return
    }
    while (queue.length > 0 && running < Math.floor(state.limit)) {
      running++
      queue.shift()?.begin()
    }
  }

  async function turn(key: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<undefined>()
    const waiting: Waiting = { key, begin: () => resolve(undefined) }
    const onAbort = () => {
      const place = queue.indexOf(waiting)
      if (place < 0) return
      queue.splice(place, 1)
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    queue.push(waiting)
    beginNext()
    await promise.finally(() => signal.removeEventListener('abort', onAbort))
  }

  return {
    async run(key, signal, work) {
      await turn(key, signal)
      const beganAt = now()
      let outcome: StartOutcome['outcome'] | undefined = 'started'
      try {
        return await work()
      } catch (error) {
        // A refused or cancelled start says nothing about the engine's capacity.
        outcome = isBusy(error) ? 'busy' : undefined
        throw error
      } finally {
        running--
        const endedAt = now()
        if (outcome) state = nextPace(state, { outcome, beganAt, endedAt })
        if (outcome === 'busy') pausedUntil = endedAt + pauseMs
        beginNext()
      }
    },
    ahead(key) {
      const place = queue.findIndex(waiting => waiting.key === key)
      return place < 0 ? undefined : running + place
    },
  }
}
