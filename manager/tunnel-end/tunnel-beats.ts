import { PING_INTERVAL_MS } from '#manager/contract/light'
import { type TunnelEnd } from './tunnel-end.ts'

/** Interval at which the owner calls `TunnelBeats.tick`. */
export const TICK_MS = 1000

/**
 * The live tunnel ends of a process. `beat` of each is called once per PING_INTERVAL_MS: a slice of them per tick, so that thousands of
 * idle tunnels do not all write at the same moment. The owner of this object runs the only timer.
 */
export class TunnelBeats {
  readonly #slices = Array.from({ length: PING_INTERVAL_MS / TICK_MS }, () => new Set<TunnelEnd>())
  #added = 0
  #ticks = 0

  add(end: TunnelEnd): void {
    this.#slices[this.#added++ % this.#slices.length]?.add(end)
  }

  delete(end: TunnelEnd): void {
    for (const slice of this.#slices) if (slice.delete(end)) return
  }

  tick(): void {
    for (const end of this.#slices[this.#ticks++ % this.#slices.length] ?? []) end.beat()
  }

  get size(): number {
    return this.#slices.reduce((sum, slice) => sum + slice.size, 0)
  }

  *[Symbol.iterator](): Generator<TunnelEnd> {
    for (const slice of this.#slices) yield* slice
  }
}
