/** Estimates when messages arrived. */
export interface Arrivals extends Disposable {
  /** Arrival time of the message that is being read, on the clock of `performance.now()`; never later than the true time. */
  time(): number
}

const TICK_MS = 200
const STANDSTILL_MS = 1_000
/** Time after a standstill during which the backlog is assumed to be read. */
const SETTLED_MS = 1_000

/**
 * Detects standstills of this process. A process that was stopped, or starved, then finds a backlog of messages. They
 * may be as old as the standstill was long, and other managers may have changed much since.
 */
export function watchArrivals(): Arrivals {
  let tickedAt = performance.now()
  let before = -Infinity
  let settlesAt = -Infinity
  const tick = () => {
    const now = performance.now()
    if (now - tickedAt > STANDSTILL_MS) {
      before = tickedAt
      settlesAt = now + SETTLED_MS
    }
    tickedAt = now
  }
  const timer = setInterval(tick, TICK_MS).unref()
  return {
    time() {
      const now = performance.now()
      // The timer may run only after the messages that are being read, so check here too.
      if (now - tickedAt > STANDSTILL_MS) tick()
      return now < settlesAt ? before : now
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
