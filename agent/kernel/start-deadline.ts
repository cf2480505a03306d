import { late } from './kernel-rules.ts'

/**
 * Deadline of a start, counted by a timer from the receipt of the request: setting the clock does not move it.
 *
 * Waiting in the queue must not use up the time of a start. So its deadline moves on with every report that shows the start waiting and
 * that a manager has processed. A manager that gets no more reports of the start can therefore rely on it being given up in time.
 */
export interface StartDeadline extends Disposable {
  readonly signal: AbortSignal
  /** Time at which the start is given up, on the clock of `performance.now()`. */
  readonly startBy: number
  /** Moves the deadline to this start's time limit after the report was sent; never to an earlier time. */
  heardWaiting(sentAt: number): void
}

/** @param prepareWithinMs for a start whose image is present; `startWithinMs` includes extra time for the pull */
export function createStartDeadline(startWithinMs: number, prepareWithinMs = startWithinMs): StartDeadline {
  const controller = new AbortController()
  const startedAt = performance.now()
  let startBy = startedAt + startWithinMs
  const arm = () =>
    setTimeout(() => controller.abort(late(startBy - startedAt)), Math.max(0, startBy - performance.now()))
  let timer = arm()
  return {
    signal: controller.signal,
    get startBy() {
      return startBy
    },
    heardWaiting(sentAt) {
      if (sentAt + prepareWithinMs <= startBy || controller.signal.aborted) return
      startBy = sentAt + prepareWithinMs
      clearTimeout(timer)
      timer = arm()
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}
