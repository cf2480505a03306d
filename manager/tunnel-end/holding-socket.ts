import { type TunnelSocket } from './tunnel-end-options.ts'

type Listener = (payload: never) => void

/**
 * The local side of a wire that is only held open, while the bytes of its connection use another wire (ADR 41). Received bytes are dropped.
 * When the wire ends for any reason, `onCut` is called once.
 */
export class HoldingSocket implements TunnelSocket {
  readonly #onCut: () => void
  readonly #listeners = new Map<string, Listener[]>()
  destroyed = false
  writable = true
  readonly writableLength = 0

  constructor(onCut: () => void) {
    this.#onCut = onCut
  }

  /** Sends bytes on the wire. */
  say(bytes: Uint8Array): void {
    if (!this.destroyed) this.#emit('data', bytes as never)
  }

  write(): boolean {
    return true
  }
  cork(): void {
    // Nothing to do: nothing is buffered.
  }
  uncork(): void {
    // Nothing to do: nothing is buffered.
  }
  pause(): void {
    // Nothing to do: the messages sent here are small, and may be sent although the wire is full.
  }
  resume(): void {
    // Nothing to do: received bytes are dropped.
  }
  end(): void {
    this.destroy()
  }
  resetAndDestroy(): void {
    this.destroy()
  }
  destroy(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.writable = false
    this.#onCut()
    this.#emit('close', undefined as never)
  }

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener])
  }

  #emit(event: 'data' | 'close', payload: never): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(payload)
  }
}
