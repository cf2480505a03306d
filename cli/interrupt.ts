/** Fires at the first Ctrl-C or SIGTERM; a second one ends the process at once, for whoever is in a hurry. */
export function untilInterrupted(): AbortSignal {
  const controller = new AbortController()
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort()
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return controller.signal
}
