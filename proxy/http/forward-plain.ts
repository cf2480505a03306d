import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Connection, type Connections, type ConnectionUser, type Taker } from './connections.ts'
import { endToEnd, type RawHeaders } from './headers.ts'
import { readPlainAnswer } from './plain-answer.ts'

/** What a request that is forwarded in the plain way needs. */
export interface PlainWay {
  readonly connections: Connections
  /** Head of the request as it is sent. */
  readonly head: string
  readonly answerHeaders: ((raw: RawHeaders) => string[]) | undefined
  /** Number of times that the request is sent once more after a kept connection broke without an answer. */
  readonly retries: number
  /** Node's client continues: it judges what was `received` and sends the rest of the answer on. */
  readonly handOver: (connection: Connection, received: Buffer) => void
  readonly fail: (error: Error) => void
}

/**
 * Forwards one request without a body over a kept connection, and its answer if that is of the plainest form and arrives in one
 * piece (`plain-answer.ts`): one write each, no parser, no streams. Anything else is handed over to Node's client.
 */
export class PlainExchange implements Taker, ConnectionUser {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #way: PlainWay
  #connection: Connection | undefined
  #retries: number

  constructor(request: IncomingMessage, response: ServerResponse, way: PlainWay) {
    this.#request = request
    this.#response = response
    this.#way = way
    this.#retries = way.retries
    way.connections.take(this)
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
    connection.stream.write(this.#way.head, 'latin1')
  }

  failed(error: Error): void {
    this.#way.fail(error)
  }

  onBytes(chunk: Buffer): void {
    const answer = this.#request.complete ? readPlainAnswer(chunk, this.#request.method === 'HEAD') : undefined
    const connection = this.#leave()
    if (!connection) return
    const { connections, answerHeaders, handOver } = this.#way
    if (!answer) {
      handOver(connection, chunk)
      return
    }
    if (answer.isKept) connections.giveBack(connection)
    else connection.stream.destroy()
    const response = this.#response
    response.sendDate = false
    // Node gives the reason phrase: the upstream's may hold any byte, and RFC 9112 section 4 tells clients to ignore it.
    const headers = endToEnd(answer.headers)
    response.writeHead(answer.status, answerHeaders ? answerHeaders(headers) : headers)
    // A text is joined with the head to one write.
    response.end(answer.body, 'latin1')
  }

  onEnd(): void {
    this.#connection?.stream.destroy()
  }

  onClosed(error: Error | undefined): void {
    const connection = this.#leave()
    if (connection?.isReused && this.#retries > 0) {
      this.#retries--
      this.#way.connections.take(this)
    } else this.#way.fail(error ?? new Error('The connection ended without an answer.'))
  }

  #leave(): Connection | undefined {
    const connection = this.#connection
    this.#connection = undefined
    if (connection) connection.user = undefined
    return connection
  }
}

const TARGET = /^[\x21-\xff]+$/
const FIELDS = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [\t\x20-\x7e\x80-\xff]*\r\n)*$/

/** The head as Node's client would write it; undefined if it holds a byte that Node's client would refuse. */
export function plainHead({ method = 'GET', url = '/' }: IncomingMessage, headers: RawHeaders): string | undefined {
  let fields = ''
  for (let i = 0; i + 1 < headers.length; i += 2) fields += `${headers[i] ?? ''}: ${headers[i + 1] ?? ''}\r\n`
  if (!TARGET.test(url) || !FIELDS.test(fields)) return undefined
  return `${method} ${url} HTTP/1.1\r\n${fields}\r\n`
}
