import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, type ServerOptions as HttpsServerOptions } from 'node:https'
import { Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { type SecureContextOptions } from 'node:tls'
import { hangUp } from '#base/hang-up'
import { type Log } from '../log.ts'
import { containedBy } from './contain.ts'
import { answerHalfClosed } from './half-close.ts'
import { enterPipeline, hasUnanswered } from './pipeline.ts'
import { isTunnelRequest } from './upgrade-offers.ts'

export interface HttpServerOptions extends ServerOptions {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => unknown
  /**
   * Handles requests for a tunnel (`upgrade-offers.ts`), and limits their answers itself. If left out, they are treated as ordinary
   * requests.
   */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown
  /** Whether the address of a request for a tunnel has tunnels; if not, it is treated as an ordinary request. If left out: all have. */
  readonly hasTunnels?: (request: IncomingMessage) => boolean
  /** Milliseconds of inactivity after which a connection is cut, unless it was upgraded; left out: never. */
  readonly timeout?: number
  /** Certificate and key: the server speaks TLS. */
  readonly tls?: SecureContextOptions
  readonly log: Log
}

/** Node gives its server for https another type, with the same events and methods. */
export interface TlsHttpServer extends Server {
  /** New connections get this certificate; open ones keep theirs. */
  setSecureContext(options: SecureContextOptions): void
}

/** Deadline for the head of a request, counted from the connection or from the end of the request before. */
const HEAD_MS = 30_000
/** Interval at which Node checks connections against the deadline. */
const CHECK_MS = 5_000
/**
 * Largest head of a request, and of an answer: as large as common servers accept (uvicorn: 64 KiB), more than a browser sends that has
 * cookies of many programs at one host name, and small enough for our memory.
 */
export const MAX_HEADER_BYTES = 64 * 1024
/** Delay before the kernel's first probe. Probes find clients that are gone, but look as if they had only ended their direction. */
const PROBE_AFTER_MS = 30_000
/** Grace period for the rest of a request that has been answered in full. */
const REST_MS = 10_000

/**
 * Creates every HTTP server of the proxy: a listener that throws or rejects ends its own connection (`contain.ts`), and an
 * error of a response or of an upgraded socket always has a listener.
 *
 * Threat model: peers send as slowly as they like, and may never read. The head of a request has a deadline, and so has the
 * rest of a request that is answered already. A whole request has none: uploads take their time. Backpressure bounds the memory
 * of a peer that does not read; the option `timeout` ends its connection. Of requests of one connection few are handled at a time (`#base/request-turns`).
 */
export function createHttpServer(options: HttpServerOptions & { readonly tls: SecureContextOptions }): TlsHttpServer
export function createHttpServer(options: HttpServerOptions): Server
export function createHttpServer({
  onRequest,
  onUpgrade,
  hasTunnels = () => true,
  log,
  ...options
}: HttpServerOptions): Server {
  // Node sets no timeout for heads if there is none for requests, so it is set explicitly.
  const limits = {
    maxHeaderSize: MAX_HEADER_BYTES,
    requestTimeout: 0,
    headersTimeout: HEAD_MS,
    connectionsCheckingInterval: CHECK_MS,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
  }
  const shouldUpgradeCallback = (request: IncomingMessage) =>
    onUpgrade !== undefined && isTunnelRequest(request) && hasTunnels(request)
  const { timeout = 0, tls, ...created } = options
  const settings = { ...limits, shouldUpgradeCallback, ...created }
  const server = tls ? createTls({ ...settings, ...tls }) : createServer(settings)
  server.timeout = timeout
  server.on('timeout', hangUp)
  answerHalfClosed(server)
  server.on('request', (request, response) => {
    response.on('error', () => response.destroy())
    response.on('finish', () => {
      if (!request.complete) endLater(request)
    })
    enterPipeline(request, response, () => {
      containedBy(response, log)(onRequest)(request, response)
    })
  })
  if (onUpgrade) {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      // From here on Node applies no limit to the connection: an earlier unread answer would stay in memory for ever.
      if (hasUnanswered(request.socket)) {
        socket.destroy()
        return
      }
      // Terminals and tunnels may be silent; the peers that use them send pings of their own.
      if (socket instanceof Socket) socket.setTimeout(0)
      containedBy(socket, log)(onUpgrade)(request, socket, head)
    })
  }
  return server
}

function createTls(options: HttpsServerOptions): TlsHttpServer {
  const server = createHttpsServer({ handshakeTimeout: HEAD_MS, ...options })
  // A failed handshake is no HTTP request: Node would pass it to the listeners of `clientError`, which answer in HTTP.
  return server.removeAllListeners('tlsClientError').on('tlsClientError', (_error, socket) => socket.destroy())
}

function endLater(request: IncomingMessage): void {
  const timer = setTimeout(() => request.destroy(), REST_MS)
  const stop = () => {
    clearTimeout(timer)
  }
  request.once('end', stop).once('close', stop)
  request.resume()
}

/** A server for connections that other listeners accepted. It must be closed in the end as well. */
export function createUnboundHttpServer(options: HttpServerOptions): Server {
  const server = createHttpServer(options)
  // On this event Node starts to check connections: deadlines apply, and `closeAllConnections` includes these connections.
  server.emit('listening')
  return server
}
