import { constants } from 'node:os'

/** npm and the terminal both pass a Ctrl-C on, so one press arrives twice within a moment. */
const SAME_PRESS_MS = 1_000
/** How long a server may take with an answer once the command is interrupted: to a question, and to what it is told (that a session ends). */
const LAST_ANSWER_MS = { GET: 1_000, other: 5_000 }

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

interface Interruption {
  readonly signal: AbortSignal
  /** Fire some time after the interrupt. */
  readonly last: Readonly<Record<keyof typeof LAST_ANSWER_MS, AbortController>>
}
let listening: Interruption | undefined

/**
 * Ends a request that has no signal of its own, some time after the interrupt, or after its start if it begins later: a silent server must
 * not hold a command whose user wants its end.
 *
 * @returns undefined while an interrupt ends the process by itself
 */
export function lastAnswer(method: string): AbortSignal | undefined {
  if (!listening) return undefined
  const kind = method === 'GET' ? 'GET' : 'other'
  const { signal, last } = listening
  if (!signal.aborted) return last[kind].signal
  const limit = new AbortController()
  abortLater(limit, kind, signal.reason)
  return limit.signal
}

function abortLater(limit: AbortController, kind: keyof typeof LAST_ANSWER_MS, reason: unknown): void {
  setTimeout(() => limit.abort(reason), LAST_ANSWER_MS[kind]).unref()
}

/**
 * From now on a Ctrl-C or SIGTERM fires the signal, and does not end the process; a second one, a moment later, ends the
 * process at once, for a user in a hurry. Disposing restores the default, unless a signal has arrived: the same press may
 * arrive a second time.
 */
export function listenForInterrupt(): Interrupt {
  const controller = new AbortController()
  const last = { GET: new AbortController(), other: new AbortController() }
  const interruption = { signal: controller.signal, last }
  listening = interruption
  let firstAt = 0
  const onSignal = (name: NodeJS.Signals) => {
    const interrupted = new Interrupted(name)
    if (controller.signal.aborted && performance.now() - firstAt > SAME_PRESS_MS) process.exit(interrupted.exitCode)
    if (controller.signal.aborted) return
    firstAt = performance.now()
    controller.abort(interrupted)
    abortLater(last.GET, 'GET', interrupted)
    abortLater(last.other, 'other', interrupted)
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      if (controller.signal.aborted) return
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
      if (listening === interruption) listening = undefined
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
