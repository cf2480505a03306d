import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http'
import { type Duplex } from 'node:stream'
import { type Log } from '../log.ts'
import { containedBy } from './contain.ts'

export interface HttpServerOptions extends ServerOptions {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => unknown
  /** Left out: an upgrade is treated as an ordinary request. */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => unknown
  readonly log: Log
}

/**
 * No limit for whole requests: uploads take their time. Heads have to come within a minute; without a limit for requests
 * Node has none for heads either, so it is set.
 *
 * Every HTTP server of the proxy is made here: a listener that throws or rejects ends its own connection (`contain.ts`), and
 * an error of a response or of an upgraded socket always has a listener.
 */
export function createHttpServer({ onRequest, onUpgrade, log, ...options }: HttpServerOptions): Server {
  const server = createServer({ requestTimeout: 0, headersTimeout: 60_000, ...options })
  server.on('request', (request, response) => {
    response.on('error', () => response.destroy())
    containedBy(response, log)(onRequest)(request, response)
  })
  if (onUpgrade) {
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy())
      containedBy(socket, log)(onUpgrade)(request, socket, head)
    })
  }
  return server
}

/** A server for connections that other listeners accepted. Close it in the end as well. */
export function createUnboundHttpServer(options: HttpServerOptions): Server {
  const server = createHttpServer(options)
  // On this event Node begins to check connections: their limits hold, and `closeAllConnections` knows them.
  server.emit('listening')
  return server
}
