export interface StopSignal extends Disposable {
  /** Aborts at the first Ctrl-C, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal
}

/**
 * The first Ctrl-C asks the steps to stop and clean up; the second does not wait for them. Disposing restores the default
 * handling.
 */
export function listenForStop(say: (text: string) => void): StopSignal {
  const stop = new AbortController()
  const onSignal = (name: NodeJS.Signals) => {
    if (stop.signal.aborted) process.exit(130)
    say(`\n· ${name}: stopping; the next start continues from here\n`)
    stop.abort(new Error('interrupted'))
  }
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of names) process.on(name, onSignal)
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => {
      for (const name of names) process.off(name, onSignal)
    },
  }
}
