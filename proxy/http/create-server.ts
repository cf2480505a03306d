import { createServer, type Server, type ServerOptions } from 'node:http'

/**
 * No limit for whole requests: uploads take their time. Heads have to come within a minute; without a limit for requests
 * Node has none for heads either, so it is said.
 */
export function createHttpServer(options: ServerOptions = {}): Server {
  return createServer({ requestTimeout: 0, headersTimeout: 60_000, ...options })
}

/** One that is handed connections that others accepted. Close it in the end as well. */
export function createUnboundHttpServer(options: ServerOptions = {}): Server {
  const server = createHttpServer(options)
  // With this Node begins to look after connections: their limits hold, and `closeAllConnections` knows them.
  server.emit('listening')
  return server
}
