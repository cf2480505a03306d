import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
  type ServerResponse,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type Duplex } from 'node:stream'
import { type Log } from '../log.ts'
import { type Connections } from './connections.ts'
import { containedBy } from './contain.ts'
import { MAX_HEADER_BYTES } from './create-server.ts'
import { PlainExchange, plainHead, SMALL_BYTES } from './forward-plain.ts'
import { bodyFraming, endToEnd, hasBody, mapHeaders, type RawHeaders } from '#base/raw-headers'
import { isPersistent, LeasedConnection } from './leased-connection.ts'
import { acceptedTrailers, announcedTrailers, forwardTrailers } from './trailers.ts'
import { closeIfEarly, whenUploaded } from './when-uploaded.ts'

export interface Upstream {
  /** Kept connections. Left out: Node's client makes its own, by `options`. */
  readonly connections?: Connections
  /** Agent or createConnection, and host/port/protocol if any. */
  readonly options: RequestOptions
  /** Final change of the end-to-end request headers: fields to add, drop or replace. */
  readonly headers: (raw: RawHeaders) => string[]
  /** Final change of the end-to-end headers of an answer; left out: none. */
  readonly answerHeaders?: (raw: RawHeaders, status: number) => string[]
  readonly log: Log
}

/** Retries on a stale connection: the other side may have closed a kept-alive connection while our request was on its way. */
const STALE_RETRIES = 3

/**
 * Streams one request to an upstream and its answer back, with backpressure both ways and nothing buffered. `onFailure` is
 * called at most once, and only if there is no answer. An answer takes precedence over an upload that breaks after it. An
 * answer that breaks off cuts the connection, so that a client never takes half an answer for a whole one.
 *
 * Threat model: the upstream may be hostile (an app in a session). Its reason phrase is dropped, an unrequested upgrade and a
 * status that is not final count as failures, and listeners are contained (`contain.ts`).
 */
export function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  onFailure: (error: Error) => void,
): void {
  const contained = containedBy(response, upstream.log)
  const isRepeatable = !hasBody(request.rawHeaders) && ['GET', 'HEAD', 'OPTIONS'].includes(request.method ?? '')
  let outgoing: ClientRequest | undefined
  let failed = false
  /** The upstream has begun an answer; its head goes out in the next tick. */
  let answered = false

  function fail(error: Error) {
    if (failed || answered || response.destroyed) return
    failed = true
    whenUploaded(
      request,
      response,
      contained(() => {
        onFailure(error)
      }),
    )
  }

  function send(attempt: number, lease?: LeasedConnection) {
    const sent = open(request, optionsOf(upstream, !isRepeatable, lease), () => [
      ...headersOf(request, upstream),
      ...bodyFraming(request.rawHeaders),
    ])
    if (sent instanceof Error) {
      request.resume()
      fail(sent)
      return
    }
    outgoing = sent
    /**
     * The upstream takes no more of the request: discard the rest, because a client whose request is not read never reads its
     * answer.
     */
    const drain = () => {
      request.unpipe(sent)
      request.resume()
    }
    const reject = (why: string) => {
      drain()
      fail(new Error(why))
      sent.destroy()
    }
    sent.on(
      'response',
      contained((incoming: IncomingMessage) => {
        if (isFinalStatus(incoming.statusCode)) {
          answered = true
          if (sent.socket instanceof LeasedConnection)
            sent.socket.keepIf(() => sent.writableFinished && isPersistent(incoming))
          answer(incoming, request, response, { upstream, contained })
          incoming.on('end', () => {
            if (request.complete) return
            // The upstream has answered completely, and Node's client emits no 'drain' from here on: the upload would stall.
            drain()
            sent.destroy()
          })
        } else reject('The app answered with an HTTP status that does not exist.')
      }),
    )
    // Without these two listeners Node silently drops the connection, or waits.
    sent.on(
      'upgrade',
      contained((_: IncomingMessage, far: Duplex) => {
        far.on('error', () => undefined).destroy()
        reject(NOT_ASKED)
      }),
    )
    sent.on(
      'information',
      contained(({ statusCode }: { statusCode: number }) => {
        if (statusCode === 101) reject(NOT_ASKED)
      }),
    )
    sent.on(
      'error',
      contained((error: Error) => {
        const isReused =
          sent.reusedSocket || (lease === undefined && sent.socket instanceof LeasedConnection && sent.socket.isReused)
        const isStale = isReused && !answered && isRepeatable && attempt < STALE_RETRIES
        if (isStale && !failed && !response.destroyed) send(attempt + 1)
        else fail(error)
      }),
    )
    if (lease || !hasBody(request.rawHeaders)) {
      sent.end()
      return
    }
    // Before the listener of `pipe`, which ends the request.
    if (isChunked(request))
      request.on(
        'end',
        contained(() => forwardTrailers(request, sent)),
      )
    request.pipe(sent)
    sent.on('close', drain)
  }

  let exchange: PlainExchange | undefined
  response.on('close', () => {
    exchange?.abort()
    outgoing?.destroy()
  })

  function sendPlain(connections: Connections, body: string) {
    const head = plainHead(request, headersOf(request, upstream))
    if (head === undefined) {
      send(0)
      return
    }
    exchange = new PlainExchange(request, response, {
      connections,
      bytes: head + body,
      answerHeaders: upstream.answerHeaders,
      retries: isRepeatable ? STALE_RETRIES : 0,
      handOver: (connection, received) => {
        send(STALE_RETRIES, new LeasedConnection(connections, connection, received))
      },
      fail,
    })
  }

  const { connections } = upstream
  const isBodiless = !hasBody(request.rawHeaders)
  if (connections && isBodiless) sendPlain(connections, '')
  else if (connections && hasSmallBody(request)) {
    // Node has parsed the part of the body that came with the head by the next tick.
    process.nextTick(
      contained(() => {
        if (response.destroyed) return
        const isThere = request.readableLength === Number(request.headers['content-length'])
        const body = isThere ? (request.read() as Buffer | null) : null
        if (body) sendPlain(connections, body.toString('latin1'))
        else send(0)
      }),
    )
  } else send(0)
}

/** True for a body that is sent in one piece with its head if it is there at once. */
const hasSmallBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] === undefined && Number(headers['content-length']) <= SMALL_BYTES

const NOT_ASKED = 'The app switched protocols without being asked to.'

/** RFC 9110 section 15: 1xx announces another answer, and codes below 100 are not defined. Node accepts any three digits. */
export const isFinalStatus = (status: number | undefined) => status !== undefined && status >= 200 && status <= 999

function answer(
  incoming: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
  { upstream, contained }: { readonly upstream: Upstream; readonly contained: ReturnType<typeof containedBy> },
) {
  if (response.destroyed) {
    incoming.destroy()
    return
  }
  incoming.on('error', () => response.destroy())
  incoming.on('close', () => {
    if (!incoming.complete) response.destroy()
  })
  // Node has parsed everything that came with the head by the next tick: a small answer is then complete.
  process.nextTick(
    contained(() => {
      if (response.destroyed) {
        incoming.destroy()
        return
      }
      response.sendDate = false
      closeIfEarly(request, response)
      // The upstream's reason phrase is not forwarded: it may hold any byte, and RFC 9112 section 4 tells clients to ignore it.
      const headers = answerHeadersOf(incoming, upstream)
      const hasTrailers = isChunked(incoming) && request.httpVersion === '1.1' && !hasNoBody(request, incoming)
      if (hasTrailers) headers.push(...announcedTrailers(incoming.rawHeaders))
      response.writeHead(incoming.statusCode ?? 502, headers)
      if (incoming.complete && request.complete && incoming.readableLength <= SMALL_BYTES) sendWhole(incoming, response)
      else stream(incoming, request, response, contained)
    }),
  )
}

/** Sends a complete answer in one write and without a pipe, which would take as long as the rest of a small request. */
function sendWhole(incoming: IncomingMessage, response: ServerResponse): void {
  // Read before the answer ends: reaching its end gives the connection back to the agent.
  const body = incoming.read() as Buffer | null
  // Node joins a string with the head, but sends a buffer separately. Latin-1 keeps every byte.
  forwardTrailers(incoming, response)
  if (body === null) response.end()
  else response.end(body.toString('latin1'), 'latin1')
}

function stream(
  incoming: IncomingMessage,
  request: IncomingMessage,
  response: ServerResponse,
  contained: ReturnType<typeof containedBy>,
): void {
  // The head and the available part of the body go out together: one write, one packet.
  const { socket } = response
  socket?.cork()
  // `flushHeaders` writes the head as UTF-8, which changes bytes above 127. Answers without a body have no other way.
  if (hasNoBody(request, response)) response.flushHeaders()
  else response.write('', 'latin1')
  incoming.pipe(response, { end: false })
  const end = contained(() => {
    forwardTrailers(incoming, response)
    response.end()
  })
  incoming.on('end', () => {
    if (isMisplaced(request, incoming)) end()
    else whenUploaded(request, response, end)
  })
  // Uncork after the tick in which `pipe` begins to flow.
  process.nextTick(() => socket?.uncork())
}

/**
 * Whether the answer refuses the offset of a part of a file (tus). The sender asks for the right offset whether it gets this answer or only
 * a closed connection, so the rest of the part need not be read. A browser whose connection was lost, for example by a restart of the
 * console, may send a part again by itself, and then sends all of it before it looks at the answer.
 */
const isMisplaced = ({ method, headers }: IncomingMessage, { statusCode }: IncomingMessage) =>
  method === 'PATCH' && headers['content-type'] === 'application/offset+octet-stream' && statusCode === 409

const isChunked = ({ headers }: IncomingMessage) => headers['transfer-encoding'] !== undefined

const hasNoBody = ({ method }: IncomingMessage, { statusCode }: IncomingMessage | ServerResponse) =>
  method === 'HEAD' || statusCode === 204 || statusCode === 304

/** The connection for a request that Node's client sends: an existing lease, a lease to come, or its own. */
function optionsOf({ connections, options }: Upstream, isSentOnce: boolean, lease?: LeasedConnection): RequestOptions {
  if (lease) return { createConnection: () => lease }
  return connections ? LeasedConnection.optionsFor(connections, isSentOnce) : options
}

/** @returns the error if the request cannot be sent: a header or a target contains a byte that Node refuses */
export function open(
  request: IncomingMessage,
  options: RequestOptions,
  headers: () => readonly string[],
): ClientRequest | Error {
  const make = options.protocol === 'https:' ? httpsRequest : httpRequest
  try {
    return make({
      ...options,
      maxHeaderSize: MAX_HEADER_BYTES,
      method: request.method ?? 'GET',
      path: request.url ?? '/',
      headers: headers(),
      setDefaultHeaders: false,
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** Header fields of the request to the upstream, without the framing of its body. */
function headersOf(request: IncomingMessage, { headers }: Upstream): string[] {
  const { rawHeaders } = request
  const announced = isChunked(request) ? announcedTrailers(rawHeaders) : []
  return [...headers(withoutExpect(request)), ...acceptedTrailers(rawHeaders), ...announced]
}

export function answerHeadersOf(incoming: IncomingMessage, { answerHeaders }: Upstream): string[] {
  const headers = endToEnd(incoming.rawHeaders)
  return answerHeaders ? answerHeaders(headers, incoming.statusCode ?? 502) : headers
}

/** Drops `Expect`: our own server has answered `Expect: 100-continue` already. */
export function withoutExpect(request: IncomingMessage): string[] {
  return mapHeaders(endToEnd(request.rawHeaders), (name, value) => (name === 'expect' ? undefined : value))
}
