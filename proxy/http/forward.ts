import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type Duplex } from 'node:stream'
import { bodyFraming, endToEnd, hasBody, mapHeaders, type RawHeaders } from './headers.ts'
import { whenUploaded } from './when-uploaded.ts'

export interface Upstream {
  /** Agent or createConnection, and host/port/protocol where there is one. */
  readonly options: RequestOptions
  /** Last change of the end-to-end request headers: what to add, drop or replace. */
  readonly headers: (raw: RawHeaders) => string[]
}

/** A connection that was kept alive may have been closed by the other side while our request was on its way. */
const STALE_RETRIES = 3

/**
 * Streams one request to an upstream and its answer back, with backpressure both ways and nothing buffered.
 * `onFailure` is called at most once, and only if there is no answer. An answer goes before an upload that breaks after it,
 * and one that breaks off cuts the connection, so that a client never takes half an answer for a whole one.
 */
export function forwardRequest(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: Upstream,
  onFailure: (error: Error) => void,
): void {
  const isRepeatable = !hasBody(request.rawHeaders) && ['GET', 'HEAD', 'OPTIONS'].includes(request.method ?? '')
  let outgoing: ClientRequest | undefined
  let failed = false

  function fail(error: Error) {
    if (failed || response.destroyed || response.headersSent) return
    failed = true
    whenUploaded(request, response, () => {
      onFailure(error)
    })
  }

  function send(attempt: number) {
    const sent = open(request, upstream, [
      ...upstream.headers(withoutExpect(request)),
      ...bodyFraming(request.rawHeaders),
    ])
    outgoing = sent
    sent.on('response', incoming => {
      answer(incoming, request, response)
    })
    sent.on('error', (error: Error) => {
      const isStale = sent.reusedSocket && !response.headersSent && isRepeatable && attempt < STALE_RETRIES
      if (isStale && !response.destroyed) send(attempt + 1)
      else fail(error)
    })
    if (!hasBody(request.rawHeaders)) {
      sent.end()
      return
    }
    request.pipe(sent)
    sent.on('close', () => {
      // Nobody takes the rest, and a client that is not read does not get to its answer.
      request.unpipe(sent)
      request.resume()
    })
  }

  response.on('close', () => outgoing?.destroy())
  send(0)
}

function answer(incoming: IncomingMessage, request: IncomingMessage, response: ServerResponse) {
  if (response.destroyed) {
    incoming.destroy()
    return
  }
  response.sendDate = false
  // Head and what has come of the body go out together: one write, one packet.
  const { socket } = response
  socket?.cork()
  response.writeHead(incoming.statusCode ?? 502, incoming.statusMessage, endToEnd(incoming.rawHeaders))
  response.flushHeaders()
  incoming.on('error', () => response.destroy())
  incoming.on('close', () => {
    if (!incoming.complete) response.destroy()
  })
  incoming.pipe(response, { end: false })
  incoming.on('end', () => {
    whenUploaded(request, response, () => response.end())
  })
  // After the tick in which `pipe` begins to flow.
  process.nextTick(() => socket?.uncork())
}

/** Forwards an upgrade (WebSocket or any other) and then both byte streams, half-close included. */
export function forwardUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  upstream: Upstream,
  onFailure: (error: Error) => void,
): void {
  const headers = [...upstream.headers(withoutExpect(request)), 'Connection', 'Upgrade']
  const outgoing = open(request, upstream, [...headers, 'Upgrade', request.headers.upgrade ?? ''])
  let isAnswered = false
  socket.on('error', () => outgoing.destroy())
  socket.on('close', () => outgoing.destroy())
  outgoing.on('error', error => {
    if (isAnswered) socket.destroy()
    else onFailure(error)
  })
  outgoing.on('upgrade', (incoming, far, farHead) => {
    isAnswered = true
    socket.write(responseHead(incoming, incoming.rawHeaders))
    if (farHead.length > 0) socket.write(farHead)
    if (head.length > 0) far.write(head)
    splice(socket, far)
  })
  outgoing.on('response', incoming => {
    // Not upgraded: pass the answer on and let its end be the end of the connection.
    isAnswered = true
    socket.write(responseHead(incoming, [...endToEnd(incoming.rawHeaders), 'Connection', 'close']))
    incoming.on('error', () => socket.destroy())
    incoming.pipe(socket)
  })
  outgoing.end()
}

/** Joins two byte streams. Half-close is passed on; when one breaks, the other is cut. */
export function splice(a: Duplex, b: Duplex): void {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.on('error', () => to.destroy())
    from.on('close', () => {
      if (!from.readableEnded) to.destroy()
    })
    from.pipe(to)
  }
}

function open(request: IncomingMessage, upstream: Upstream, headers: readonly string[]): ClientRequest {
  const make = upstream.options.protocol === 'https:' ? httpsRequest : httpRequest
  return make({
    ...upstream.options,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    setDefaultHeaders: false,
  })
}

/** Our own server has answered `Expect: 100-continue` already. */
function withoutExpect(request: IncomingMessage): string[] {
  return mapHeaders(endToEnd(request.rawHeaders), (name, value) => (name === 'expect' ? undefined : value))
}

function responseHead(incoming: IncomingMessage, headers: RawHeaders): string {
  const status = incoming.statusCode ?? 502
  const lines = [`HTTP/1.1 ${status} ${incoming.statusMessage ?? STATUS_CODES[status] ?? ''}`]
  for (let i = 0; i + 1 < headers.length; i += 2) lines.push(`${headers[i] ?? ''}: ${headers[i + 1] ?? ''}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}
