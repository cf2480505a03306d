import { constants } from 'node:os'

/** npm and the terminal both pass a Ctrl-C on, so one press arrives twice within a moment. */
const SAME_PRESS_MS = 1_000

/** Reason of `Interrupt.signal`: why a waiting command was ended. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  /** Exit code that a shell reports for a command ended by this signal. */
  readonly exitCode: number

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`)
    this.exitCode = 128 + constants.signals[signal]
  }
}

export interface Interrupt extends Disposable {
  /** Fires at the first Ctrl-C or SIGTERM, with an `Interrupted` as its reason. */
  readonly signal: AbortSignal
}

/**
 * From now on a Ctrl-C or SIGTERM fires the signal, and does not end the process; a second one, a moment later, ends the
 * process at once, for a user in a hurry. Disposing restores the default, unless a signal has arrived: the same press may
 * arrive a second time.
 */
export function listenForInterrupt(): Interrupt {
  const controller = new AbortController()
  let firstAt = 0
  const onSignal = (name: NodeJS.Signals) => {
    const interrupted = new Interrupted(name)
    if (controller.signal.aborted && performance.now() - firstAt > SAME_PRESS_MS) process.exit(interrupted.exitCode)
    if (controller.signal.aborted) return
    firstAt = performance.now()
    controller.abort(interrupted)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      if (!controller.signal.aborted) process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
    },
  }
}

/** Rejects with the signal's reason; for races with work that cannot be cancelled. */
export function whenInterrupted({ signal }: Pick<Interrupt, 'signal'>): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined)
  signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  return promise
}
