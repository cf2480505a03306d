import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { TunnelEnd } from './tunnel-end.ts'
import { type TunnelEndOptions, type TunnelOutcome, type TunnelSocket } from './tunnel-end-options.ts'

export interface TunnelDuplexOptions extends Pick<TunnelEndOptions, 'wire' | 'newMask' | 'applyMask'> {
  readonly onEnd?: (end: TunnelEnd) => void
  /** Error of the stream after a failure. */
  readonly errorOf?: (outcome: TunnelOutcome) => Error
}

/**
 * The client's end of a tunnel as a plain byte stream. The tunnel itself is the same `TunnelEnd` as that of a TCP client, with this stream in
 * place of the client's socket: half-close is passed on, backpressure goes both ways, and a failure becomes the error of the stream.
 */
export class TunnelDuplex extends Duplex {
  readonly #local: Local
  readonly #end: TunnelEnd
  readonly errorOf: (outcome: TunnelOutcome) => Error

  constructor({ onEnd, errorOf = broken, ...options }: TunnelDuplexOptions) {
    super({ allowHalfOpen: true, autoDestroy: true })
    this.errorOf = errorOf
    this.#local = new Local(this)
    const end = new TunnelEnd({ ...options, local: this.#local, role: 'client', onEnd: () => onEnd?.(end) })
    this.#end = end
    this.once('end', () => this.#local.emit('finish'))
  }

  /** The end of the tunnel behind this stream. */
  get tunnel(): TunnelEnd {
    return this.#end
  }

  get outcome(): TunnelOutcome {
    return this.#end.outcome
  }

  override _read(): void {
    this.#local.onRead()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#local.say(chunk, done)
  }

  override _final(done: () => void): void {
    this.#local.emit('end')
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    // Destroyed without an error (an idle connection, for example): the app sees an orderly end.
    if (!error) this.#end.close('done')
    this.#local.onDestroyed()
    done(error)
  }
}

/** The side of a TunnelDuplex that its TunnelEnd uses as a socket. */
class Local extends EventEmitter implements TunnelSocket {
  readonly #stream: TunnelDuplex
  /** `push` returned false: the TunnelEnd waits for 'drain'. */
  #isFull = false
  #isPaused = true
  /** A write that waits until the wire takes more. */
  #waiting: (() => void) | undefined
  destroyed = false
  writable = true
  /** Always 0: `write` copies the bytes, so none of the TunnelEnd's buffers stays in use. */
  readonly writableLength = 0

  constructor(stream: TunnelDuplex) {
    super()
    this.#stream = stream
  }

  write(bytes: Uint8Array): boolean {
    // Copied, because the reader of the wire owns the buffer and reuses it at once.
    const more = this.#stream.push(Buffer.from(bytes))
    this.#isFull = !more
    return more
  }
  cork(): void {
    // No-op: pieces of one read are pushed one by one.
  }
  uncork(): void {
    // See cork.
  }
  end(): void {
    this.writable = false
    this.#stream.push(null)
  }
  pause(): void {
    this.#isPaused = true
  }
  resume(): void {
    this.#isPaused = false
    const done = this.#waiting
    this.#waiting = undefined
    done?.()
  }
  resetAndDestroy(): void {
    if (!this.destroyed) this.#stream.destroy(this.#stream.errorOf(this.#stream.outcome))
  }
  destroy(): void {
    if (!this.destroyed) this.#stream.destroy()
  }

  onRead(): void {
    if (!this.#isFull) return
    this.#isFull = false
    this.emit('drain')
  }

  say(chunk: Buffer, done: () => void): void {
    this.emit('data', chunk)
    if (this.#isPaused && !this.destroyed) this.#waiting = done
    else done()
  }

  onDestroyed(): void {
    if (this.destroyed) return
    this.destroyed = true
    this.writable = false
    this.emit('close')
  }
}

export function broken(): Error {
  return Object.assign(new Error('The connection to the app broke.'), { code: 'ECONNRESET' })
}
