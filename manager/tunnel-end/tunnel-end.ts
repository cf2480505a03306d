import {
  type ApplyMask,
  applyMask,
  ascii,
  closePayload,
  encodeFrame,
  FRAME_EOF,
  FRAME_NEXT,
  FRAME_OK,
  FRAME_OK_NEXT,
  NO_CLOSE_CODE,
  OPCODE,
  type Opcode,
  toAscii,
  TUNNEL_CLOSE,
  tunnelCloseReason,
  type TunnelCloseReason,
} from '#manager/contract/light'
import { EarlyBytes } from './early-bytes.ts'
import { finish, reset } from './end-socket.ts'
import { FrameDecoder, FrameError } from './frame-decoder.ts'
import { LARGEST_FRAMED_READ, readSteadily } from './steady-reader.ts'
import { type TunnelEndOptions, type TunnelMode, type TunnelOutcome, type TunnelSocket } from './tunnel-end-options.ts'
import { writeFramed } from './write-framed.ts'

/** State of the current connection. */
interface Fate {
  connected: boolean
  reason: TunnelCloseReason | undefined
  lost: boolean
}

const LONGEST_TEXT = 1024
const NOTHING = new Uint8Array(0)
const OK = toAscii(FRAME_OK)
const OK_NEXT = toAscii(FRAME_OK_NEXT)
const EOF = toAscii(FRAME_EOF)
const NEXT = toAscii(FRAME_NEXT)

/**
 * An end of a tunnel: sends bytes from `local` as frames on `wire`, and payload from `wire` to `local`, until both are closed. Starts at
 * once. It owns both sockets and has no timer of its own: call `beat` every PING_INTERVAL_MS (`TunnelBeats`).
 *
 * Backpressure: a full socket pauses the other one, so memory is limited to the buffers of two sockets whatever the peers do. A paused peer
 * is never disconnected for being slow, not even after the close frame: while the peer sends anything, or we still have bytes to send, only
 * TCP decides whether the peer is gone.
 *
 * Ends: the end of one direction travels as `eof` and leaves the other open. When both directions ended, close `done`. A reset or error of
 * `local` travels as close `reset`. Any received failure, and a lost wire, reset `local`, so that a program there never takes half an
 * answer for a whole one.
 *
 * A lasting end does not close when both directions ended: the wire stays idle, without a local socket, until another connection is
 * attached.
 *
 * Threat model: the peer on the wire is only as trusted as the user it belongs to. It can end or stall its own tunnel, but not increase our
 * memory use: frames and texts have limits, and a flood of pings is answered only as fast as the peer reads.
 */
export class TunnelEnd {
  readonly #wire: TunnelSocket
  readonly #mode: TunnelMode
  readonly #options: TunnelEndOptions
  readonly #decoder: FrameDecoder
  readonly #masking: { readonly apply: ApplyMask }
  /** Undefined while no connection uses the wire. */
  #local: TunnelSocket | undefined
  #fate: Fate = { connected: false, reason: undefined, lost: false }
  #text = ''
  /** A write since the last `drain` event returned false: another `drain` event will come. */
  #localFull = false
  #localEnded = false
  #localFinished = false
  #localClosed = false
  #remoteEnded = false
  #closeSent = false
  #closeReceived = false
  #wireClosed = false
  /** Both ends support further connections. A client learns this from the agent's answer. */
  #lasts: boolean
  /** Clients: the connection that waits for `ok`. */
  #asking: { readonly local: TunnelSocket; readonly answered: (isConnected: boolean) => void } | undefined
  /** Servers: bytes that the client has sent after `next`; undefined unless another connection is requested and not yet attached. */
  #early: EarlyBytes | undefined
  /** Number of beats after our close frame without received bytes and without bytes left to send. */
  #silentBeats = 0

  constructor(options: TunnelEndOptions) {
    const { wire, local, role, mode = 'tunnel', applyMask: unmask = applyMask } = options
    this.#wire = wire
    this.#mode = mode
    this.#options = options
    this.#masking = { apply: unmask }
    this.#lasts = role === 'server' && options.lasting !== undefined
    this.#decoder = new FrameDecoder({
      role,
      unmask,
      sink: {
        data: (kind, chunk, last) => this.#onPayload(kind, chunk, last),
        ping: payload => this.#onPing(payload),
        // Nothing to do: the arrival of bytes already shows that the peer is alive.
        pong: () => undefined,
        close: code => this.#onCloseFrame(code),
      },
    })

    readSteadily(wire, {
      take: (slab, from, to) => this.#onWireData(slab.subarray(from, to)),
      // A wire becomes idle only when the local socket has taken everything.
      done: () => !this.#local || this.#local.writableLength === 0,
    })
    wire.on('drain', () => this.#local?.resume())
    wire.on('end', () => this.#onWireGone())
    wire.on('error', () => this.#onWireGone())
    wire.on('close', () => {
      this.#onWireGone()
      this.#wireClosed = true
      this.#settle()
    })
    this.attach(local)
  }

  /** Connects a local socket to the wire: the first one, or the next one of a lasting end. */
  attach(local: TunnelSocket): void {
    const wire = this.#wire
    if (this.#wireClosed || this.#closeSent) {
      local.destroy()
      return
    }
    this.#local = local
    this.#fate = { connected: false, reason: undefined, lost: false }
    this.#localEnded = this.#localFinished = this.#localClosed = this.#remoteEnded = false
    const early = this.#early
    this.#early = undefined
    // A socket whose connection has ended may emit further events while the wire serves the next connection.
    readSteadily(local, {
      take: (slab, from, to) => this.#onLocalData(slab, from, to),
      done: () => wire.writableLength === 0,
      largest: LARGEST_FRAMED_READ,
    })
    local.on('drain', () => {
      if (this.#local === local) wire.resume()
    })
    local.on('end', () => {
      if (this.#local === local) this.#onLocalEnd()
    })
    local.on('error', () => {
      if (this.#local === local) this.#onLocalGone()
    })
    if (this.#options.lasting) local.on('finish', () => this.#onLocalFinished(local))
    local.on('close', () => {
      if (this.#local !== local) return
      this.#onLocalGone()
      this.#localClosed = true
      this.#rest()
      this.#settle()
    })
    // First bytes from the agent. Until they arrive, the manager keeps the bytes that a retry needs.
    if (this.#options.role === 'server') {
      if (this.#mode === 'tunnel') this.#send(OPCODE.text, this.#greeting)
      else this.#send(OPCODE.pong, NOTHING)
      this.#fate.connected = true
    }
    wire.resume()
    local.resume()
    this.#passOn(early)
    // The local socket may have ended, without bytes, while the wire was dialled.
    if (local.readableEnded === true) this.#onLocalEnd()
  }

  /**
   * Clients: uses an idle wire for another connection, at once. As on a new wire, bytes are sent before the agent answers. @returns false
   * if the wire is closed: then `local` was not used
   */
  next(local: TunnelSocket): boolean {
    if (!this.#isAtRest) return false
    this.#send(OPCODE.text, NEXT)
    this.attach(local)
    return true
  }

  /**
   * Clients: like `next`, but `local` is attached only when the agent has connected its service. If `answered` is called with false,
   * nothing was read from it.
   */
  nextIfAnswered(local: TunnelSocket, answered: (isConnected: boolean) => void): void {
    if (!this.#isAtRest) {
      answered(false)
      return
    }
    this.#asking = { local, answered }
    this.#send(OPCODE.text, NEXT)
  }

  get #greeting(): Uint8Array {
    const { greeting } = this.#options
    if (greeting !== undefined) return toAscii(greeting)
    return this.#lasts ? OK_NEXT : OK
  }

  get #isAtRest(): boolean {
    return !this.#local && !this.#asking && !this.#closeSent && !this.#wire.destroyed
  }

  /**
   * Call every PING_INTERVAL_MS. A ping keeps middleboxes from dropping the connection, and detects a lost peer while nothing is read (a
   * write to it fails). A wire with unsent bytes is not pinged: it is slow, not dead.
   */
  beat(): void {
    if (!this.#closeSent) {
      if (this.#wire.writableLength === 0) this.#send(OPCODE.ping, NOTHING)
    } else if (this.#wire.writableLength > 0) this.#silentBeats = 0
    // A whole interval has passed without a ping from the peer and without an answer to our close frame.
    else if (++this.#silentBeats > 1) this.#wire.destroy()
  }

  /** How the current connection ends, or has ended; `done` and `service_ended` are orderly ends. */
  get outcome(): TunnelOutcome {
    return outcomeOf(this.#fate)
  }

  /** Returns a function for the outcome of the current connection, which stays the same when the wire serves another one. */
  get outcomeOfThis(): () => TunnelOutcome {
    const fate = this.#fate
    return () => outcomeOf(fate)
  }

  /** Ends the tunnel at once with a reason, without waiting for unsent data of the local socket. */
  close(reason: TunnelCloseReason): void {
    this.#close(reason)
    if (this.#local) reset(this.#local)
  }

  // ---- local → wire

  #onLocalData(slab: Uint8Array, from: number, to: number): void {
    if (this.#closeSent || from === to) return
    const takesMore = writeFramed(this.#wire, { slab, from, to }, this.#options.newMask?.(), this.#masking)
    // Pause even if the kernel took everything at once: reading less often gives larger reads.
    if (!takesMore) this.#local?.pause()
  }

  #onLocalEnd(): void {
    this.#localEnded = true
    if (this.#mode === 'tunnel') {
      // If this was the last open direction, `eof` and the close frame go out together.
      this.#wire.cork()
      this.#send(OPCODE.text, EOF)
      this.#closeWhenDone()
      this.#wire.uncork()
    } else if (this.#mode === 'terminal') {
      if (this.#options.onTerminalEnd) this.#options.onTerminalEnd(reason => this.#close(reason))
      else this.#close('done')
    }
    // Foreign mode has no half-close. The end of the service closes the tunnel; that of a client is not sent, so a client
    // that half-closed still gets its answer.
    else if (this.#options.role === 'server') this.#close('service_ended')
  }

  #onLocalFinished(local: TunnelSocket): void {
    if (this.#local !== local) return
    this.#localFinished = true
    this.#rest()
  }

  #onLocalGone(): void {
    const isAsked = this.#localEnded && this.#options.onTerminalEnd !== undefined
    if (!isAsked && (!this.#localEnded || !this.#remoteEnded)) this.#close('reset')
    if (!this.#local?.destroyed) this.#local?.destroy()
    // Keep reading: bytes that still arrive are dropped, but the close handshake has to be received.
    this.#wire.resume()
  }

  // ---- wire → local

  #onWireData(chunk: Uint8Array): void {
    this.#silentBeats = 0
    if (this.#closeReceived) return
    const local = this.#local
    try {
      local?.cork()
      this.#decoder.push(chunk)
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.#close(error.closeCode === TUNNEL_CLOSE.frame_too_large ? 'frame_too_large' : 'protocol_error')
      if (this.#local) reset(this.#local)
      this.#closeReceived = true
      finish(this.#wire)
    } finally {
      local?.uncork()
    }
    if (this.#localFull && this.#local?.destroyed === false) this.#wire.pause()
    this.#localFull = false
  }

  #onPayload(kind: 'binary' | 'text', chunk: Uint8Array, last: boolean): void {
    if (this.#closeReceived) return
    if (kind === 'binary' || this.#mode === 'foreign') {
      if (this.#early?.isEnded === false) {
        if (!this.#early.keep(chunk)) this.#wire.pause()
        return
      }
      if (this.#remoteEnded) throw new FrameError(TUNNEL_CLOSE.protocol_error, 'bytes after eof')
      const local = this.#local
      if (chunk.length > 0 && local?.destroyed === false && !local.write(chunk)) this.#localFull = true
      return
    }
    this.#text += ascii(chunk)
    if (this.#text.length > LONGEST_TEXT) throw new FrameError(TUNNEL_CLOSE.protocol_error, 'long text')
    if (!last) return
    const text = this.#text
    this.#text = ''
    if (this.#mode === 'terminal') this.#options.onText?.(text)
    else if (text === FRAME_EOF) this.#onEof()
    else if (text === FRAME_OK && this.#options.role === 'client') this.#onOk()
    else if (text === FRAME_OK_NEXT && this.#options.role === 'client' && this.#options.lasting) {
      this.#lasts = true
      this.#onOk()
    } else if (text === FRAME_NEXT && this.#options.lasting?.onNext) this.#onNext()
    else throw new FrameError(TUNNEL_CLOSE.protocol_error, 'unknown text')
  }

  /** No pong is sent while the wire is full: the bytes in flight already show that we are alive. */
  #onPing(payload: Uint8Array): void {
    if (!this.#closeSent && this.#wire.writableLength === 0) this.#send(OPCODE.pong, payload)
  }

  #onOk(): void {
    const asking = this.#asking
    this.#asking = undefined
    // Attach before decoding the next frame: it may contain the first bytes of the service.
    if (asking) this.attach(asking.local)
    this.#fate.connected = true
    if (asking) asking.answered(true)
    else this.#options.onConnected?.()
  }

  #onEof(): void {
    if (this.#early?.isEnded === false) {
      this.#early.isEnded = true
      return
    }
    if (!this.#local) throw new FrameError(TUNNEL_CLOSE.protocol_error, 'eof without a connection')
    this.#remoteEnded = true
    finish(this.#local)
    this.#closeWhenDone()
  }

  #closeWhenDone(): void {
    if (!this.#localEnded || !this.#remoteEnded) return
    if (this.#lasts) this.#rest()
    else this.#close('done')
  }

  // ---- several connections one after the other

  /** The client may send this before our local socket has taken the last bytes of the previous connection. */
  #onNext(): void {
    if (!this.#localEnded || !this.#remoteEnded || this.#early) {
      throw new FrameError(TUNNEL_CLOSE.protocol_error, 'next during a connection')
    }
    this.#early = new EarlyBytes()
    if (this.#local) this.#rest()
    else this.#options.lasting?.onNext?.()
  }

  #passOn(early: EarlyBytes | undefined): void {
    for (const chunk of early?.chunks ?? []) this.#onPayload('binary', chunk, true)
    if (early?.isEnded) this.#onEof()
    if (this.#localFull) this.#wire.pause()
    this.#localFull = false
  }

  /** Detaches a local socket that has ended both ways and taken all bytes; their buffer is used for the next connection. */
  #rest(): void {
    const { lasting } = this.#options
    if (!lasting || !this.#lasts || !this.#local || this.#closeSent || !this.#localEnded || !this.#remoteEnded) return
    if (!this.#localFinished && !this.#localClosed) return
    this.#fate.reason ??= 'done'
    this.#local = undefined
    this.#wire.resume()
    if (this.#early) lasting.onNext?.()
    else lasting.onRest?.()
  }

  /** Reports to the connection that waits for `ok` that it gets none. */
  #refuseAsking(): void {
    const asking = this.#asking
    this.#asking = undefined
    asking?.answered(false)
  }

  #onCloseFrame(code: number): void {
    this.#closeReceived = true
    const reason = code === NO_CLOSE_CODE ? 'done' : tunnelCloseReason(code)
    if (reason === undefined && !this.#closeSent) this.#fate.lost = true
    this.#close(reason ?? 'done')
    finish(this.#wire)
    const local = this.#local
    if (!local || local.destroyed) return
    if (reason === 'done' || reason === 'service_ended') this.#finishLocal(local)
    else reset(local)
  }

  /** Delivers everything received, then closes the connection, even if its other end would go on sending. */
  #finishLocal(local: TunnelSocket): void {
    this.#remoteEnded = true
    finish(local)
    if (this.#localEnded) return
    local.on('finish', () => local.destroy())
    local.resume()
  }

  // ---- the wire itself

  /** The first reason counts. Bytes already written to the wire are sent before the close frame. */
  #close(reason: TunnelCloseReason): void {
    this.#fate.reason ??= reason
    if (this.#closeSent) return
    this.#send(OPCODE.close, closePayload(TUNNEL_CLOSE[reason], reason))
    this.#closeSent = true
    this.#refuseAsking()
    if (this.#closeReceived) finish(this.#wire)
  }

  #onWireGone(): void {
    // Everything has arrived, and a lasting end sends no close frame.
    const isOver = this.#localEnded && this.#remoteEnded
    if (isOver) this.#fate.reason ??= 'done'
    const orderly = isOver || this.#closeReceived || (this.#closeSent && this.#fate.reason === 'done')
    if (!isOver && !this.#closeSent && !this.#closeReceived) this.#fate.lost = true
    this.#closeSent = true
    finish(this.#wire)
    if (this.#local?.destroyed === false && !orderly) reset(this.#local)
    this.#refuseAsking()
  }

  #settle(): void {
    if (this.#wireClosed && (!this.#local || this.#localClosed)) this.#options.onEnd?.(this.outcome)
  }

  #send(opcode: Opcode, payload: Uint8Array): void {
    if (this.#closeSent) return
    if (this.#wire.destroyed) return
    this.#wire.write(encodeFrame(opcode, payload, this.#options.newMask?.(), this.#masking))
  }
}

function outcomeOf({ lost, reason, connected }: Fate): TunnelOutcome {
  return { reason: lost ? undefined : reason, connected }
}
