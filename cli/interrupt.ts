import { constants } from 'node:os'

/** npm and terminals both pass a Ctrl-C on, so that one arrives twice within a moment. */
const SAME_PRESS_MS = 1_000

/** Why a command that waits was ended: the reason of `Interrupt.signal`. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  /** What a shell says of a command that this signal has ended. */
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
 * From now on a Ctrl-C or SIGTERM fires the signal and ends nothing by itself; a second one, a moment later, ends the process at
 * once, for whoever is in a hurry. Disposing gives both back, unless one has come: the same press may arrive a second time.
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

/** Rejects with the signal's reason; for races with what cannot be told to stop. */
export function whenInterrupted({ signal }: Interrupt): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => undefined)
  signal.addEventListener('abort', () => reject(signal.reason as Interrupted), { once: true })
  return promise
}
