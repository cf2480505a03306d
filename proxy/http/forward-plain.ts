import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Connection, type Connections, type ConnectionUser, type Taker } from './connections.ts'
import { endToEnd, type RawHeaders } from '#base/raw-headers'
import { readPlainAnswer } from './plain-answer.ts'

/** Parts with which a request is forwarded in the plain way. */
export interface PlainWay {
  readonly connections: Connections
  /** The request as it is sent, one character for each byte. */
  readonly bytes: string
  readonly answerHeaders: ((raw: RawHeaders, status: number) => string[]) | undefined
  /** Number of times that the request is sent once more after a kept connection broke without an answer. */
  readonly retries: number
  /** Hands the answer over to Node's client, which parses what was `received` and forwards the rest. */
  readonly handOver: (connection: Connection, received: Buffer) => void
  readonly fail: (error: Error) => void
}

/** Longest body that is sent in one piece with its head. */
export const SMALL_BYTES = 16 * 1024

/**
 * Forwards one request that is there completely over a kept connection, and its answer if that is of the plainest form
 * (`plain-answer.ts`): one write each if the answer is there at once, no parser, no streams. Any other answer is handed over to
 * Node's client.
 *
 * Threat model: the app chooses every byte and when it comes. Of the body exactly as many bytes are forwarded as the head
 * announced. If there are fewer, the client's connection is cut, so that it never takes half an answer for a whole one. If there
 * are more, the app's connection is closed.
 */
export class PlainExchange implements Taker, ConnectionUser {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #way: PlainWay
  #connection: Connection | undefined
  #retries: number
  /** Bytes of the body that are still to come; undefined before the answer. */
  #missing: number | undefined
  #isKept = false

  constructor(request: IncomingMessage, response: ServerResponse, way: PlainWay) {
    this.#request = request
    this.#response = response
    this.#way = way
    this.#retries = way.retries
    way.connections.take(this)
  }

  get isSentOnce(): boolean {
    return this.#way.retries === 0
  }

  get isGone(): boolean {
    return this.#response.destroyed
  }

  /** The client went away. */
  abort(): void {
    this.#leave()?.stream.destroy()
  }

  taken(connection: Connection): void {
    if (this.isGone) {
      this.#way.connections.giveBack(connection)
      return
    }
    this.#connection = connection
    connection.user = this
    connection.stream.write(this.#way.bytes, 'latin1')
  }

  failed(error: Error): void {
    this.#way.fail(error)
  }

  onBytes(chunk: Buffer): void {
    if (this.#missing === undefined) this.#begin(chunk)
    else this.#continue(chunk, this.#missing)
  }

  onEnd(): void {
    this.#connection?.stream.destroy()
  }

  onClosed(error: Error | undefined): void {
    const connection = this.#leave()
    if (this.#missing !== undefined) this.#response.destroy()
    else if (connection?.isReused && this.#retries > 0) {
      this.#retries--
      this.#way.connections.take(this)
    } else this.#way.fail(error ?? endedError())
  }

  #begin(chunk: Buffer): void {
    const answer = this.#request.complete ? readPlainAnswer(chunk, this.#request.method === 'HEAD') : undefined
    if (!answer) {
      const connection = this.#leave()
      if (connection) this.#way.handOver(connection, chunk)
      return
    }
    const { status, body, missing, isKept } = answer
    const response = this.#response
    this.#missing = missing
    this.#isKept = isKept
    if (missing === 0) this.#finish()
    response.sendDate = false
    const headers = endToEnd(answer.headers)
    // Node sets the reason phrase: the upstream's may contain any byte, and RFC 9112 section 4 tells clients to ignore it.
    response.writeHead(status, this.#way.answerHeaders?.(headers, status) ?? headers)
    if (missing === 0 && body.length <= SMALL_BYTES) response.end(body.toString('latin1'), 'latin1')
    else if (missing === 0) response.end(body)
    else {
      // Further bytes of this turn of the event loop go out in the same write: many apps send head and body one by one.
      const { socket } = response
      socket?.cork()
      setImmediate(() => socket?.uncork())
      this.#write(body)
    }
  }

  #continue(chunk: Buffer, missing: number): void {
    const rest = chunk.length > missing ? chunk.subarray(0, missing) : chunk
    this.#missing = missing - rest.length
    if (chunk.length > missing) this.#isKept = false
    if (this.#missing > 0) {
      this.#write(rest)
      return
    }
    this.#finish()
    this.#response.end(rest)
  }

  /** The answer is complete. */
  #finish(): void {
    const connection = this.#leave()
    if (!connection) return
    if (this.#isKept) this.#way.connections.giveBack(connection)
    else connection.stream.destroy()
  }

  #write(bytes: Buffer): void {
    const response = this.#response
    // The head goes out even without a byte of the body.
    const takesMore = bytes.length > 0 ? response.write(bytes) : response.write('', 'latin1')
    const connection = this.#connection
    if (takesMore || !connection) return
    connection.stream.pause()
    response.once('drain', () => {
      if (this.#connection === connection) connection.stream.resume()
    })
  }

  #leave(): Connection | undefined {
    const connection = this.#connection
    this.#connection = undefined
    if (connection) connection.user = undefined
    return connection
  }
}

/** The same error as Node's client reports. */
const endedError = () => Object.assign(new Error('The connection ended without an answer.'), { code: 'ECONNRESET' })

const TARGET = /^[\x21-\xff]+$/
const FIELDS = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [\t\x20-\x7e\x80-\xff]*\r\n)*$/

/** The head as Node's client would write it; undefined if it holds a byte that Node's client would refuse. */
export function plainHead({ method = 'GET', url = '/' }: IncomingMessage, headers: RawHeaders): string | undefined {
  let fields = ''
  for (let i = 0; i + 1 < headers.length; i += 2) fields += `${headers[i] ?? ''}: ${headers[i + 1] ?? ''}\r\n`
  if (!TARGET.test(url) || !FIELDS.test(fields)) return undefined
  return `${method} ${url} HTTP/1.1\r\n${fields}\r\n`
}
