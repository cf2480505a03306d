import { type IncomingMessage, type Server, type ServerResponse } from 'node:http'

/**
 * Deadline for bodies. Node's `requestTimeout` holds for every request of a server alike; uploads need hours. So this module
 * gives each body its deadline, and a route that reads a stream lifts it, after the caller was authorized.
 */
export interface BodyDeadlines {
  /** The route reads the body as a stream and watches for stalls by itself. */
  lift(request: IncomingMessage): void
  /** The route reads no more: the rest of the body has to arrive within the deadline, from now. */
  restore(request: IncomingMessage): void
}

/** @param onLate ends the connection of a request whose body is late */
export function limitBodies(
  server: Server,
  ms: number,
  onLate: (request: IncomingMessage, response: ServerResponse) => void,
): BodyDeadlines {
  const running = new WeakMap<IncomingMessage, { timer?: NodeJS.Timeout; readonly begin: () => void }>()
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    const deadline: { timer?: NodeJS.Timeout; begin: () => void } = {
      begin() {
        clearTimeout(deadline.timer)
        if (request.complete || request.destroyed) return
        deadline.timer = setTimeout(() => {
          if (!request.complete) onLate(request, response)
        }, ms).unref()
      },
    }
    running.set(request, deadline)
    request.once('close', () => clearTimeout(deadline.timer))
    deadline.begin()
  })
  return {
    lift: request => clearTimeout(running.get(request)?.timer),
    restore: request => running.get(request)?.begin(),
  }
}

/** Whether the framing announces a body: without either header a request has no body. RFC 9112 section 6.3 */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}
