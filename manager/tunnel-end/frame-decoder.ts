import {
  type ApplyMask,
  applyMask,
  closeCode,
  isCloseCode,
  MAX_CONTROL_PAYLOAD,
  MAX_FRAME_BYTES,
  MAX_HEADER,
  NO_CLOSE_CODE,
  OPCODE,
  type Opcode,
  TUNNEL_CLOSE,
} from '#manager/contract/light'

/** A violation of RFC 6455; the connection is failed with `closeCode` (section 7.1.7). */
export class FrameError extends Error {
  override readonly name = 'FrameError'
  readonly closeCode: number

  constructor(closeCode: number, message: string) {
    super(message)
    this.closeCode = closeCode
  }
}

/** Callbacks of a decoder. Chunks are views into the pushed bytes; copy them to keep them. */
export interface FrameSink {
  /** Some bytes of a message, as they arrive; `last` ends the message (also without bytes). */
  data(kind: 'binary' | 'text', chunk: Uint8Array, last: boolean): void
  ping(payload: Uint8Array): void
  pong(): void
  /** @param code 1005 if the peer sent none */
  close(code: number): void
}

export interface FrameDecoderOptions {
  /** The end that decodes: a server requires masked frames, a client unmasked ones (section 5.1). */
  readonly role: 'client' | 'server'
  readonly sink: FrameSink
  readonly maxFrameBytes?: number
  /** Native implementation, if there is one; must work in place. */
  readonly unmask?: ApplyMask
}

/**
 * Decodes a stream of frames from chunks of any size, and passes payload on before its frame is complete: memory use does not depend on the
 * size of a frame. Payload is never copied (but is unmasked in place); only headers and control frames that straddle chunks are buffered.
 */
export class FrameDecoder {
  readonly #role: 'client' | 'server'
  readonly #sink: FrameSink
  readonly #maxFrameBytes: number
  readonly #unmask: ApplyMask
  /** First the header that is being received, then the header of the current frame. */
  readonly #header = new Uint8Array(MAX_HEADER)
  #have = 0
  #need = 2
  #opcode: Opcode = OPCODE.continuation
  #fin = false
  /** Payload bytes still to come; −1 while a header is being read. */
  #remaining = -1
  #control: Uint8Array | undefined
  /** Kind of the message whose fragments are being read. */
  #message: 'binary' | 'text' | undefined
  /** Rotated by the position in the payload; undefined for no mask or a zero mask. */
  #mask: Uint8Array | undefined

  constructor({ role, sink, maxFrameBytes = MAX_FRAME_BYTES, unmask = applyMask }: FrameDecoderOptions) {
    this.#role = role
    this.#sink = sink
    this.#maxFrameBytes = maxFrameBytes
    this.#unmask = unmask
  }

  /** @throws FrameError; after that the decoder is unusable */
  push(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length) {
      if (this.#remaining < 0) {
        this.#header[this.#have++] = chunk[at++] ?? 0
        if (this.#have === 2) this.#need = this.#checkStart()
        if (this.#have === this.#need) this.#beginPayload()
      } else {
        const part = chunk.subarray(at, at + this.#remaining)
        at += part.length
        this.#remaining -= part.length
        this.#payload(part)
      }
    }
  }

  /** Checks the first two bytes of a header. @returns length of the whole header */
  #checkStart(): number {
    const [first = 0, second = 0] = this.#header
    const opcode = first & 0x0f
    const length = second & 0x7f
    const masked = (second & 0x80) !== 0
    this.#fin = (first & 0x80) !== 0
    if ((first & 0x70) !== 0) throw protocolError('reserved bits are set')
    if (!isOpcode(opcode)) throw protocolError(`unknown opcode ${opcode}`)
    if (masked !== (this.#role === 'server')) throw protocolError(masked ? 'masked by a server' : 'not masked')
    if (opcode >= OPCODE.close) {
      if (!this.#fin) throw protocolError('fragmented control frame')
      if (length > MAX_CONTROL_PAYLOAD) throw protocolError('long control frame')
    } else if (opcode === OPCODE.continuation) {
      if (this.#message === undefined) throw protocolError('continuation of nothing')
    } else {
      if (this.#message !== undefined) throw protocolError('message inside a message')
      this.#message = opcode === OPCODE.text ? 'text' : 'binary'
    }
    this.#opcode = opcode
    return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + (masked ? 4 : 0)
  }

  #beginPayload(): void {
    const header = this.#header
    const short = (header[1] ?? 0) & 0x7f
    const end = short === 126 ? 4 : short === 127 ? 10 : 2
    let length = end === 2 ? short : 0
    for (let i = 2; i < end; i++) length = length * 256 + (header[i] ?? 0)
    if (length > this.#maxFrameBytes) {
      throw new FrameError(TUNNEL_CLOSE.frame_too_large, `frame of more than ${this.#maxFrameBytes} bytes`)
    }
    const zero = header[end] === 0 && header[end + 1] === 0 && header[end + 2] === 0 && header[end + 3] === 0
    this.#mask = this.#need === end || zero ? undefined : header.slice(end, end + 4)
    this.#remaining = length
    this.#have = 0
    this.#need = 2
    if (this.#opcode >= OPCODE.close) this.#control = new Uint8Array(length)
    if (length === 0) this.#payload(header.subarray(0, 0))
  }

  #payload(part: Uint8Array): void {
    if (this.#mask && part.length > 0) {
      this.#unmask(part, this.#mask)
      this.#mask = rotate(this.#mask, part.length)
    }
    const complete = this.#remaining === 0
    if (complete) this.#remaining = -1
    if (this.#control) {
      const control = this.#control
      control.set(part, control.length - part.length - Math.max(this.#remaining, 0))
      if (!complete) return
      this.#control = undefined
      this.#controlFrame(control)
      return
    }
    const kind = this.#message ?? 'binary'
    const last = complete && this.#fin
    if (last) this.#message = undefined
    if (part.length > 0 || last) this.#sink.data(kind, part, last)
  }

  #controlFrame(payload: Uint8Array): void {
    if (this.#opcode === OPCODE.ping) this.#sink.ping(payload)
    else if (this.#opcode === OPCODE.pong) this.#sink.pong()
    else {
      const code = closeCode(payload)
      if (payload.length === 1) throw protocolError('close frame with half a code')
      if (payload.length > 1 && (code === NO_CLOSE_CODE || !isCloseCode(code)))
        throw protocolError(`close code ${code}`)
      this.#sink.close(code)
    }
  }
}

function protocolError(message: string): FrameError {
  return new FrameError(TUNNEL_CLOSE.protocol_error, message)
}

function isOpcode(value: number): value is Opcode {
  return value <= OPCODE.binary || (value >= OPCODE.close && value <= OPCODE.pong)
}

/** Rotates the mask key so that it starts at the byte after `count` more bytes of payload. */
function rotate(key: Uint8Array, count: number): Uint8Array {
  const by = count & 3
  if (by === 0) return key
  return Uint8Array.of(...key.subarray(by), ...key.subarray(0, by))
}
