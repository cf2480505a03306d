import { type IncomingMessage, type RequestOptions } from 'node:http'
import { Duplex } from 'node:stream'
import { type Connection, type Connections, type ConnectionUser } from './connections.ts'
import { withoutRepeatedLength } from './repeated-length.ts'

/**
 * A kept connection as Node's HTTP client sees it, for one request. It goes back to the others when the answer is complete and `keepIf`
 * allows it; otherwise it is closed with the lease.
 *
 * With `received` the request has already been sent: what Node's client writes is dropped, and the client first reads what was received so
 * far.
 */
export class LeasedConnection extends Duplex implements ConnectionUser {
  readonly #connections: Connections
  readonly #connection: Connection
  readonly #isSent: boolean
  #mayKeep: (() => boolean) | undefined
  #hasBegun = false
  #hasEnded = false
  #isOver = false

  constructor(connections: Connections, connection: Connection, received?: Buffer) {
    super({ allowHalfOpen: true })
    this.#connections = connections
    this.#connection = connection
    this.#isSent = received !== undefined
    connection.user = this
    if (received) this.onBytes(received)
  }

  /** Node's client waits until a connection is available. */
  static optionsFor(connections: Connections, isSentOnce: boolean): RequestOptions {
    return {
      createConnection: (_, done) => {
        connections.take({
          // A request that was aborted in the meantime closes its lease.
          isGone: false,
          isSentOnce,
          taken: connection => {
            done(null, new LeasedConnection(connections, connection))
          },
          failed: error => {
            // Node's callback accepts an error without a socket; its type does not say so.
            ;(done as (error: Error) => void)(error)
          },
        })
        return undefined
      },
    }
  }

  get isReused(): boolean {
    return this.#connection.isReused
  }

  /** Asked when Node's client has read the answer to its end. */
  keepIf(mayKeep: () => boolean): void {
    this.#mayKeep = mayKeep
  }

  /** Node's client calls this, as on a `net.Socket`, at the end of an answer if no agent keeps the connection. */
  destroySoon(): void {
    const isKept = !this.#isOver && !this.#hasEnded && this.readableLength === 0 && this.#mayKeep?.() === true
    if (isKept) {
      this.#isOver = true
      this.#connections.giveBack(this.#connection)
    }
    this.destroy()
  }

  onBytes(chunk: Buffer): void {
    const bytes = this.#hasBegun ? chunk : withoutRepeatedLength(chunk)
    this.#hasBegun = true
    if (!this.push(bytes)) this.#connection.stream.pause()
  }

  onEnd(): void {
    this.#hasEnded = true
    this.push(null)
  }

  onClosed(error: Error | undefined): void {
    this.#isOver = true
    // After an orderly end the rest may still have to be read.
    if (error || !this.#hasEnded) this.destroy(error)
  }

  override _read(): void {
    if (!this.#isOver) this.#connection.stream.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isSent) done()
    else this.#connection.stream.write(chunk, done)
  }

  override _final(done: () => void): void {
    if (!this.#isOver) this.#connection.stream.end()
    done()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isOver) {
      this.#isOver = true
      this.#connection.user = undefined
      this.#connection.stream.destroy()
    }
    done(error)
  }
}

/** A server that announces a shorter time may close the connection while the next request is on its way. */
export const SHORTEST_KEEP_SECONDS = 2

/** True if the connection of this answer serves another request: RFC 9112 section 9.3. */
export function isPersistent({ httpVersion, headers }: IncomingMessage): boolean {
  const options = headers.connection?.toLowerCase().split(/[\s,]+/) ?? []
  const seconds = /^timeout=(\d+)/.exec(String(headers['keep-alive']))?.[1]
  const isShort = seconds !== undefined && Number(seconds) < SHORTEST_KEEP_SECONDS
  return httpVersion === '1.1' && !options.includes('close') && !isShort
}
