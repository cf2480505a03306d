import { type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import {
  ascii,
  closePayload,
  encodeFrame,
  FRAME_EOF,
  FrameDecoder,
  type FrameSink,
  headerLength,
  isZero,
  type MaskKey,
  OPCODE,
  PING_INTERVAL_MS,
  toAscii,
  TUNNEL_CLOSE,
  tunnelCloseReason,
  writeHeader,
} from '#manager/contract'
import { applyMask, maskingFor } from '../tunnel/masks.ts'
import { refusalOf } from './refusal.ts'

const SMALL_BYTES = 16 * 1024

/**
 * A dialled tunnel as a plain byte stream, for HTTP: Node's client can write requests into it. Half-close is passed on as
 * the frame `eof`, backpressure both ways, and a close code of the other end becomes a coded error.
 *
 * Raw TCP goes through `tunnel/pipe.ts`, which does not build a stream in between.
 */
export class TunnelStream extends Duplex {
  readonly #wire: Socket
  readonly #decoder: FrameDecoder
  readonly #mask: () => MaskKey
  #isClosed = false
  #hasEnded = false
  #text = ''

  constructor(wire: Socket) {
    super({ allowHalfOpen: true, autoDestroy: true })
    this.#wire = wire
    this.#mask = maskingFor(wire)
    const sink: FrameSink = {
      data: (kind, chunk, last) => {
        this.#take(kind, chunk, last)
      },
      // A full wire is not grown by answers: the bytes under way say that we are alive.
      ping: payload => {
        if (wire.writableLength === 0) wire.write(encodeFrame(OPCODE.pong, payload, this.#mask()))
      },
      pong: () => undefined,
      close: code => {
        this.#closed(code)
      },
    }
    this.#decoder = new FrameDecoder({ role: 'client', sink, unmask: applyMask })
    wire.on('data', (chunk: Buffer) => {
      try {
        this.#decoder.push(chunk)
      } catch (error) {
        this.destroy(error as Error)
      }
    })
    wire.on('error', error => this.destroy(error))
    // Without a close frame: what was at the other end has died.
    wire.on('end', () => {
      if (!this.#isClosed) this.destroy(brokenPath())
    })
    const beat = setInterval(() => {
      if (!this.#isClosed && wire.writableLength === 0)
        wire.write(encodeFrame(OPCODE.ping, new Uint8Array(), this.#mask()))
    }, PING_INTERVAL_MS)
    beat.unref()
    wire.on('close', () => {
      clearInterval(beat)
      if (!this.#isClosed) this.destroy(brokenPath())
    })
  }

  #take(kind: 'binary' | 'text', chunk: Uint8Array, last: boolean) {
    if (this.destroyed || this.#hasEnded) return
    if (kind === 'binary') {
      if (chunk.length > 0 && !this.push(chunk)) this.#wire.pause()
      return
    }
    this.#text += ascii(chunk)
    if (!last) return
    if (this.#text === FRAME_EOF) this.#end()
    this.#text = ''
  }

  #closed(code: number) {
    this.#isClosed = true
    this.#wire.end(encodeFrame(OPCODE.close, closePayload(TUNNEL_CLOSE.done), this.#mask()))
    const error = errorOfClose(code)
    if (error) this.destroy(error)
    else this.#end()
  }

  #end() {
    if (this.#hasEnded || this.destroyed) return
    this.#hasEnded = true
    this.push(null)
  }

  // What Node's agent asks of a connection that it keeps for the next request.
  readonly timeout = 0
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    this.#wire.ref()
    return this
  }
  unref(): this {
    this.#wire.unref()
    return this
  }

  override _read(): void {
    this.#wire.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const mask = this.#mask()
    if (chunk.length <= SMALL_BYTES || !isZero(mask)) {
      this.#wire.write(encodeFrame(OPCODE.binary, chunk, mask, { apply: applyMask }), done)
      return
    }
    const header = { opcode: OPCODE.binary, length: chunk.length, mask }
    const start = Buffer.alloc(headerLength(header))
    writeHeader(start, header)
    this.#wire.cork()
    this.#wire.write(start)
    this.#wire.write(chunk, done)
    this.#wire.uncork()
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#isClosed) done()
    else this.#wire.write(encodeFrame(OPCODE.text, toAscii(FRAME_EOF), this.#mask()), done)
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (this.#isClosed || this.#wire.destroyed) this.#wire.destroySoon()
    else {
      this.#isClosed = true
      const code = error ? TUNNEL_CLOSE.reset : TUNNEL_CLOSE.done
      this.#wire.end(encodeFrame(OPCODE.close, closePayload(code), this.#mask()))
      this.#wire.resume()
      // The answer to a close frame is the end of the connection; do not wait for it for ever.
      const timer = setTimeout(() => this.#wire.destroy(), 2_000)
      timer.unref()
    }
    done(error)
  }
}

/** Undefined where the close is the ordinary end. */
function errorOfClose(code: number): Error | undefined {
  const reason = tunnelCloseReason(code)
  if (reason === 'done' || reason === 'service_ended') return undefined
  return refusalOf(reason) ?? brokenPath()
}

function brokenPath(): Error {
  return Object.assign(new Error('The connection to the app broke.'), { code: 'ECONNRESET' })
}
