/** npm and terminals both pass a Ctrl-C on, so that one arrives twice within a moment. */
const SAME_PRESS_MS = 1_000

/** Fires at the first Ctrl-C or SIGTERM; a second one, a moment later, ends the process at once, for whoever is in a hurry. */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController()
  let firstAt = 0
  const onSignal = () => {
    if (controller.signal.aborted && performance.now() - firstAt > SAME_PRESS_MS) process.exit(130)
    if (controller.signal.aborted) return
    firstAt = performance.now()
    controller.abort()
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return controller.signal
}
