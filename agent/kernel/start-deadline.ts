import { late } from './kernel-rules.ts'

/**
 * Until when a start must be done, counted from the receipt of the request by a timer: a clock that is set does not move it.
 *
 * A start that waits for its turn here must not use its time up. The deadline of such a start moves on with every report that a
 * manager has taken up and that shows the start waiting: a manager that hears no more of it finds it given up in time.
 */
export interface StartDeadline extends Disposable {
  readonly signal: AbortSignal
  /** On the clock of `performance.now()`. */
  readonly startBy: number
  /** Moves it to so long after the time at which the report was sent; never back. */
  heardWaiting(sentAt: number): void
}

/** @param prepareWithinMs of a start whose image is there; the pull has its own time on top in `startWithinMs` */
export function createStartDeadline(startWithinMs: number, prepareWithinMs = startWithinMs): StartDeadline {
  const controller = new AbortController()
  let startBy = performance.now() + startWithinMs
  const arm = () => setTimeout(() => controller.abort(late(startWithinMs)), Math.max(0, startBy - performance.now()))
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
