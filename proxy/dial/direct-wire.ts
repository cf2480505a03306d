import { connect, type Socket } from 'node:net'
import { type DirectAddress, PING_INTERVAL_MS } from '#manager/contract/light'
import { HoldingSocket, readOnAfterReset, TunnelEnd, type TunnelOutcome } from '#manager/tunnel-end'
import { type KeptLine, type KeptWires } from './kept-wires.ts'
import { liveEnds } from './live-ends.ts'
import { applyMask, maskingFor } from './masks.ts'
import { isOrderly, splice } from './splice.ts'

/** A container on this computer answers at once, or refuses. */
const CONNECT_MS = 1_000
const NOTE_MS = 5_000
/** Larger notes would tell the manager nothing new: the session is in use. */
const MAX_NOTE = 64 * 1024
const filler = new Uint8Array(MAX_NOTE)

/**
 * A wire that holds direct connections to an app's container, one at a time (ADR 41): no connection outlives the wire. The manager
 * authorises, counts and cuts the wire like that of any tunnel.
 *
 * When the wire ends, the present connection is reset in the same turn of the event loop, and a connection that is being opened is given
 * up. Therefore nothing is sent to an address that now belongs to another container: the agent sees the wire end before it gives the
 * address away. The end of the wire has then reached the kernel of this computer, and Node hands out its event before that of a connection
 * that was accepted later.
 *
 * The manager measures idle time by bytes. Every few seconds the wire carries a note: as many zeros as bytes have moved, 64 KiB at most.
 * The agent drops them.
 */
export class DirectWire implements KeptLine {
  readonly #address: DirectAddress
  readonly #end: TunnelEnd
  readonly #local: HoldingSocket
  #service: Socket | undefined
  #client: Socket | undefined
  #kept: KeptWires | undefined
  #isClosed = false
  /** Bytes of the present connection that notes have already reported. */
  #noted = 0
  /** Bytes of ended connections that no note has reported yet. */
  #unnoted = 0

  constructor(wire: Socket, address: DirectAddress) {
    this.#address = address
    this.#local = new HoldingSocket(() => this.#cut())
    const end = new TunnelEnd({
      wire,
      local: this.#local,
      role: 'client',
      newMask: maskingFor(wire),
      applyMask,
      onEnd: () => liveEnds.delete(end),
    })
    this.#end = end
    liveEnds.add(end)
    directWires.add(this)
    notes ??= setInterval(noteAll, NOTE_MS).unref()
  }

  /**
   * Connects to the app.
   *
   * @returns undefined if the app does not answer at its address, the wire has ended, or the signal aborts
   */
  connect(signal?: AbortSignal): Promise<Socket | undefined> {
    if (this.#local.destroyed || this.#service || signal?.aborted) return Promise.resolve(undefined)
    const keepAlive = { noDelay: true, keepAlive: true, keepAliveInitialDelay: PING_INTERVAL_MS }
    const service = connect({ ...this.#address, ...keepAlive, allowHalfOpen: true })
    this.#service = service
    const { promise, resolve } = Promise.withResolvers<Socket | undefined>()
    const giveUp = () => void service.destroy()
    const timer = setTimeout(giveUp, CONNECT_MS)
    signal?.addEventListener('abort', giveUp, { once: true })
    const settle = (opened: Socket | undefined) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
      resolve(opened)
    }
    // 'close' follows, and says enough here.
    service.on('error', () => undefined)
    service.once('connect', () => {
      readOnAfterReset(service)
      settle(service)
    })
    service.once('close', () => {
      this.#unnoted += bytesOf(service) - this.#noted
      this.#noted = 0
      this.#service = undefined
      settle(undefined)
    })
    return promise
  }

  /** Joins a client with the connection that was opened. When both have closed, `kept` takes this wire; without it the wire ends. */
  carry(client: Socket, service: Socket, kept?: KeptWires): void {
    this.#client = client
    this.#kept = kept
    splice(client, service, () => {
      if (this.#local.destroyed) return
      if (kept) kept.keep(this)
      else this.close()
    })
  }

  nextIfAnswered(client: Socket, answered: (isConnected: boolean) => void): void {
    void this.connect().then(service => {
      if (service) this.carry(client, service, this.#kept)
      answered(service !== undefined)
    })
  }

  /** Ends the wire, and the present connection with it. */
  close(): void {
    this.#isClosed = true
    this.note()
    this.#end.close('done')
  }

  /** The outcome of the present connection, to be read after its client has closed. */
  get outcomeOfThis(): () => TunnelOutcome {
    const client = this.#client
    return () => {
      if (client && isOrderly(client)) return { reason: 'done', connected: true }
      const isCut = this.#local.destroyed && !this.#isClosed
      return { reason: isCut ? this.#end.outcome.reason : 'reset', connected: true }
    }
  }

  /** Tells the manager how many bytes have moved since the last note, as that many zeros. */
  note(): void {
    const present = this.#service ? bytesOf(this.#service) : 0
    const moved = this.#unnoted + present - this.#noted
    this.#noted = present
    this.#unnoted = 0
    if (moved > 0) this.#local.say(filler.subarray(0, Math.min(moved, MAX_NOTE)))
  }

  #cut(): void {
    directWires.delete(this)
    this.#kept?.forget(this)
    this.#service?.resetAndDestroy()
  }
}

/** All live direct wires of this process; one timer sends the notes of all. */
const directWires = new Set<DirectWire>()
let notes: NodeJS.Timeout | undefined

function noteAll(): void {
  for (const directWire of directWires) directWire.note()
  if (directWires.size > 0) return
  clearInterval(notes)
  notes = undefined
}

function bytesOf({ bytesRead, bytesWritten }: Socket): number {
  return bytesRead + bytesWritten
}
