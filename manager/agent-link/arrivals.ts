/** When messages came. */
export interface Arrivals extends Disposable {
  /** Of a message that is being read now, on the clock of `performance.now()`; not later than it came. */
  time(): number
}

const TICK_MS = 200
const STANDSTILL_MS = 1_000
/** What had piled up has been read by then. */
const SETTLED_MS = 1_000

/**
 * A process that was stopped, or starved, finds messages waiting that tell of the time before: what they say may be as old
 * as the standstill was long, and much can have happened since, at other managers.
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
      // Timers may have their turn only after what is being read.
      if (now - tickedAt > STANDSTILL_MS) tick()
      return now < settlesAt ? before : now
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
