declare const setInterval: (act: () => void, ms: number) => { unref(): unknown }
declare const clearInterval: (timer: unknown) => void

/** `await using` ends the repetitions and waits for the work in progress; `using` does not wait. */
export interface Repeated extends Disposable, AsyncDisposable {
  /** Begins the work outside of its interval, or joins the work in progress. Never rejects. */
  readonly now: () => Promise<void>
}

/**
 * Repeats a work at an interval. A repetition that comes due while the work still runs is skipped. The timer alone keeps no process alive.
 *
 * @param onFailure called with each failure, must not throw; the next repetition tries again
 */
export function every(
  ms: number,
  work: () => Promise<unknown>,
  onFailure: (error: unknown) => void = ignore,
): Repeated {
  let running: Promise<void> | undefined
  // The async function makes a synchronous throw a failure like any other; in the timer, it would end the process.
  const attempt = async () => {
    try {
      await work()
    } catch (error) {
      onFailure(error)
    }
  }
  const now = () => (running ??= attempt().finally(() => (running = undefined)))
  const timer = setInterval(() => void now(), ms)
  timer.unref()
  return {
    now,
    [Symbol.dispose]: () => clearInterval(timer),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await running
    },
  }
}

const ignore = () => undefined
