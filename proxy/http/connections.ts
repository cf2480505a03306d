import { type Duplex } from 'node:stream'
import { type Log } from '../log.ts'
import { containedBy } from './contain.ts'

const IDLE_MS = 30_000
const MOST = 256
const MOST_IDLE = 32
/** Servers close connections that were idle for a few seconds or more (uvicorn and Node: 5), maybe as the next request is on its way. */
const FRESH_MS = 1_500

/** Uses a connection for one request. */
export interface ConnectionUser {
  onBytes(chunk: Buffer): void
  /** The other side sends no more. */
  onEnd(): void
  /** The connection is gone. */
  onClosed(error: Error | undefined): void
}

/** Waits for a connection. */
export interface Taker {
  /** It needs none any more. */
  readonly isGone: boolean
  /** Its request is not sent again if the connection turns out to be closed: it gets one that was used just now, or a new one. */
  readonly isSentOnce: boolean
  taken(connection: Connection): void
  /** Nothing could be dialled. */
  failed(error: Error): void
}

/** One connection to an upstream, for one request after the other. */
export class Connection {
  readonly stream: Duplex
  /** The request that has the connection; undefined while it is idle. */
  user: ConnectionUser | undefined
  /** It has served a request before the present one. */
  isReused = false
  /** Idle connections: when it is closed, by `performance.now()`. */
  idleUntil = 0

  constructor(stream: Duplex) {
    this.stream = stream
  }

  get isOpen(): boolean {
    return !this.stream.destroyed && !this.stream.readableEnded && this.stream.writable
  }
}

/**
 * Connections to one upstream, kept between requests. At most 256 exist; further requests wait. At most 32 idle ones are kept,
 * for 30 seconds.
 *
 * Threat model: the upstream may send or end at any time. Bytes that no request has asked for would become the answer to the
 * next request, maybe another browser's, so a connection that receives any while it is idle is closed, as is one whose other
 * side has ended: with half-open connections it would take a request and never answer.
 */
export class Connections {
  readonly #connect: () => Promise<Duplex>
  readonly #log: Log
  readonly #all = new Set<Connection>()
  /** The one that was used last at the end. */
  readonly #idle: Connection[] = []
  readonly #waiting: Taker[] = []
  #dialling = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(connect: () => Promise<Duplex>, log: Log) {
    this.#connect = connect
    this.#log = log
  }

  /** Calls one method of the taker: at once for an idle connection, otherwise when one was dialled or became free. */
  take(taker: Taker): void {
    const usedSince = taker.isSentOnce ? performance.now() - FRESH_MS : 0
    for (let last = this.#idle.at(-1); last && last.idleUntil - IDLE_MS >= usedSince; last = this.#idle.at(-1)) {
      this.#idle.pop()
      if (!last.isOpen) continue
      last.isReused = true
      this.#hand(last, taker)
      return
    }
    if (this.#all.size + this.#dialling < MOST) {
      this.#dial(taker)
      return
    }
    this.#waiting.push(taker)
    // Makes room for a new one; its close dials.
    this.#idle.shift()?.stream.destroy()
  }

  /** Takes back a connection on which the last answer was complete. */
  giveBack(connection: Connection): void {
    connection.user = undefined
    if (this.#isClosed || !connection.isOpen || connection.stream.readableLength > 0) {
      connection.stream.destroy()
      return
    }
    // Flows, so that bytes and an end are noticed.
    connection.stream.resume()
    const next = this.#next()
    if (next) {
      connection.isReused = true
      this.#hand(connection, next)
      return
    }
    if (this.#idle.length >= MOST_IDLE) {
      connection.stream.destroy()
      return
    }
    connection.idleUntil = performance.now() + IDLE_MS
    this.#idle.push(connection)
    this.#timer ??= setTimeout(() => this.#closeIdle(), IDLE_MS).unref()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const { stream } of this.#all) stream.destroy()
    for (const taker of this.#waiting.splice(0)) taker.failed(new Error('the connections were closed'))
  }

  #dial(taker: Taker): void {
    this.#dialling++
    this.#connect().then(
      stream => {
        this.#dialling--
        this.#add(stream, taker)
      },
      (error: unknown) => {
        this.#dialling--
        taker.failed(error instanceof Error ? error : new Error(String(error)))
        this.#dialForNext()
      },
    )
  }

  #add(stream: Duplex, taker: Taker): void {
    const connection = new Connection(stream)
    const contained = containedBy(stream, this.#log)
    this.#all.add(connection)
    let failure: Error | undefined
    stream.on('error', error => {
      failure = error
    })
    stream.on(
      'data',
      contained((chunk: Buffer) => {
        if (connection.user) connection.user.onBytes(chunk)
        else stream.destroy()
      }),
    )
    stream.on(
      'end',
      contained(() => {
        if (connection.user) connection.user.onEnd()
        else stream.destroy()
      }),
    )
    stream.on(
      'close',
      contained(() => {
        this.#all.delete(connection)
        const at = this.#idle.indexOf(connection)
        if (at >= 0) this.#idle.splice(at, 1)
        const { user } = connection
        connection.user = undefined
        user?.onClosed(failure)
        this.#dialForNext()
      }),
    )
    if (this.#isClosed) stream.destroy()
    this.#hand(connection, taker)
  }

  /** Contained by itself: the caller may be a listener of another connection, or nobody. */
  #hand(connection: Connection, taker: Taker): void {
    containedBy(
      connection.stream,
      this.#log,
    )(() => {
      taker.taken(connection)
    })()
  }

  #dialForNext(): void {
    if (this.#isClosed || this.#all.size + this.#dialling >= MOST) return
    const next = this.#next()
    if (next) this.#dial(next)
  }

  #next(): Taker | undefined {
    let next = this.#waiting.shift()
    while (next?.isGone) next = this.#waiting.shift()
    return next
  }

  #closeIdle(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const { stream, idleUntil } of this.#idle) if (idleUntil <= now) stream.destroy()
    const oldest = this.#idle.find(({ idleUntil }) => idleUntil > now)
    if (oldest) this.#timer = setTimeout(() => this.#closeIdle(), oldest.idleUntil - now).unref()
  }
}
