import { type Duplex } from 'node:stream'
import { AppError, because } from '#manager/contract'
import { type Log } from '../log.ts'
import { containedBy } from './contain.ts'

const IDLE_MS = 30_000
/** Largest number of connections to one upstream. */
export const MOST_CONNECTIONS = 256
const MOST_IDLE = 32
/** A request waits for a connection for this long while all are in use, by event streams for example. */
const WAIT_MS = 5_000

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
  /** True once the taker needs no connection any more. */
  readonly isGone: boolean
  /**
   * The taker's request cannot be sent again if the connection turns out to be closed, so the taker gets a new connection: an app may close
   * a kept one just as the request arrives (uvicorn and Node after five idle seconds, others after a number of requests).
   */
  readonly isSentOnce: boolean
  taken(connection: Connection): void
  /** Called if no connection could be made. */
  failed(error: Error): void
}

/** A connection to an upstream, for one request after the other. */
export class Connection {
  readonly stream: Duplex
  /** The request that has the connection; undefined while it is idle. */
  user: ConnectionUser | undefined
  /** True if the connection has served an earlier request. */
  isReused = false
  /** For an idle connection: time at which it is closed, by `performance.now()`. */
  idleUntil = 0

  constructor(stream: Duplex) {
    this.stream = stream
  }

  get isOpen(): boolean {
    return !this.stream.destroyed && !this.stream.readableEnded && this.stream.writable
  }
}

interface Waiting {
  readonly taker: Taker
  readonly timer: NodeJS.Timeout
}

/**
 * Connections to one upstream, kept between requests. At most 256 exist; further requests wait for five seconds. At most 32 idle ones are
 * kept, for 30 seconds.
 *
 * Threat model: the upstream may send or end at any time. Unrequested bytes would become the answer to the next request, maybe another
 * browser's, so an idle connection that receives bytes is closed. An idle connection whose other side has ended is closed too: being
 * half-open, it would accept a request and never answer.
 */
export class Connections {
  readonly #connect: () => Promise<Duplex>
  readonly #log: Log
  readonly #all = new Set<Connection>()
  /** Idle connections; the most recently used is last. */
  readonly #idle: Connection[] = []
  readonly #waiting: Waiting[] = []
  #dialling = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(connect: () => Promise<Duplex>, log: Log) {
    this.#connect = connect
    this.#log = log
  }

  /** Calls one method of the taker: at once for an idle connection, otherwise when one was dialled or became free. */
  take(taker: Taker): void {
    for (let last = this.#takeIdle(taker); last; last = this.#takeIdle(taker)) {
      if (!last.isOpen) continue
      last.isReused = true
      this.#hand(last, taker)
      return
    }
    if (this.#all.size + this.#dialling < MOST_CONNECTIONS) {
      this.#dial(taker)
      return
    }
    this.#wait(taker)
    // Frees space for a new connection: the close handler dials it.
    this.#idle.shift()?.stream.destroy()
  }

  /** Takes back a connection on which the last answer was complete. */
  giveBack(connection: Connection): void {
    connection.user = undefined
    if (this.#isClosed || !connection.isOpen || connection.stream.readableLength > 0) {
      connection.stream.destroy()
      return
    }
    // Let the stream flow, so that unrequested bytes and an end are noticed.
    connection.stream.resume()
    const next = this.#next(false)
    if (next) {
      connection.isReused = true
      this.#hand(connection, next)
      return
    }
    // A waiting request needs a new connection: closing this one allows it.
    if (this.#waiting.length > 0 || this.#idle.length >= MOST_IDLE) {
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
    for (let next = this.#next(); next; next = this.#next()) next.failed(new Error('the connections were closed'))
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

  /** Wrapped separately: the caller may be a listener of another connection, or nobody. */
  #hand(connection: Connection, taker: Taker): void {
    containedBy(
      connection.stream,
      this.#log,
    )(() => {
      taker.taken(connection)
    })()
  }

  #dialForNext(): void {
    if (this.#isClosed || this.#all.size + this.#dialling >= MOST_CONNECTIONS) return
    const next = this.#next()
    if (next) this.#dial(next)
  }

  #takeIdle({ isSentOnce }: Taker): Connection | undefined {
    return isSentOnce ? undefined : this.#idle.pop()
  }

  #wait(taker: Taker): void {
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      if (!taker.isGone)
        taker.failed(new AppError('unavailable', because('app_connections_at_most', { count: MOST_CONNECTIONS })))
    }, WAIT_MS)
    const waiting = { taker, timer }
    this.#waiting.push(waiting)
  }

  /** The request that has waited longest. @param wantsNew false: only requests that a kept connection may serve */
  #next(wantsNew = true): Taker | undefined {
    for (let at = 0; at < this.#waiting.length;) {
      const { taker, timer } = this.#waiting[at] as Waiting
      if (!taker.isGone && taker.isSentOnce && !wantsNew) {
        at++
        continue
      }
      clearTimeout(timer)
      this.#waiting.splice(at, 1)
      if (!taker.isGone) return taker
    }
    return undefined
  }

  #closeIdle(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const { stream, idleUntil } of this.#idle) if (idleUntil <= now) stream.destroy()
    const oldest = this.#idle.find(({ idleUntil }) => idleUntil > now)
    if (oldest) this.#timer = setTimeout(() => this.#closeIdle(), oldest.idleUntil - now).unref()
  }
}
