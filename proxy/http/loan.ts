import { Agent, type ClientRequestArgs, type RequestOptions } from 'node:http'
import { Duplex } from 'node:stream'
import { type Connection, type Connections, type ConnectionUser } from './connections.ts'

/**
 * A connection as Node's HTTP client sees it, for one request: unless it was taken out, it is closed with the loan.
 *
 * With `received` the request is on its way already: what Node's client writes of it is dropped, and it reads first what was
 * received so far.
 */
export class Loan extends Duplex implements ConnectionUser {
  readonly #connection: Connection
  readonly #isSent: boolean
  #hasEnded = false
  #isOver = false

  constructor(connection: Connection, received?: Buffer) {
    super({ allowHalfOpen: true })
    this.#connection = connection
    this.#isSent = received !== undefined
    connection.user = this
    if (received) this.onBytes(received)
  }

  get isReused(): boolean {
    return this.#connection.isReused
  }

  // Members that Node's agent needs of a connection that may be kept.
  readonly timeout = 0
  setKeepAlive(): this {
    return this
  }
  ref(): this {
    return this
  }
  unref(): this {
    return this
  }

  /** Ends the loan, for a connection whose answer is complete; undefined if bytes were received after the answer. */
  takeOut(): Connection | undefined {
    if (this.#isOver || this.#hasEnded || this.readableLength > 0) return undefined
    this.#isOver = true
    return this.#connection
  }

  onBytes(chunk: Buffer): void {
    if (!this.push(chunk)) this.#connection.stream.pause()
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

/** Returns false if the answer announces that the connection will be closed soon; Node's types say void. */
const mayKeep = Reflect.get(Agent.prototype, 'keepSocketAlive') as (this: Agent, socket: Duplex) => boolean

/** Lets Node's HTTP client use kept connections. */
export class LoanAgent extends Agent {
  readonly #connections: Connections

  constructor(connections: Connections) {
    super({ keepAlive: true })
    this.#connections = connections
  }

  override createConnection(
    options: ClientRequestArgs & LoanOptions,
    done: (error: Error | null, socket: Duplex) => void,
  ): Duplex | undefined {
    if (options.loan) return options.loan
    this.#connections.take({
      // Node gives back a connection for a request that was aborted in the meantime.
      isGone: false,
      taken: connection => {
        done(null, new Loan(connection))
      },
      failed: error => {
        // Node's callback accepts an error without a socket; its type does not say so.
        ;(done as (error: Error) => void)(error)
      },
    })
    return undefined
  }

  /** Gives the connection back. @returns false, so that the agent keeps no loan */
  override keepSocketAlive(loan: Duplex): boolean {
    const connection = loan instanceof Loan && mayKeep.call(this, loan) ? loan.takeOut() : undefined
    if (connection) this.#connections.giveBack(connection)
    return false
  }
}

/** Options of a request that Node's client sends through a `LoanAgent`. */
export interface LoanOptions extends RequestOptions {
  /** Left out: a connection is taken when there is one. */
  readonly loan?: Loan
}
