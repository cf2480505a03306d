import { type IncomingMessage, type Server, type ServerResponse } from 'node:http'

/**
 * Deadline for bodies. Node's `requestTimeout` is the same for all requests of a server, but uploads need hours. So this module sets a
 * deadline for each body, and a route that reads a stream lifts it after the caller was authorized.
 */
export interface BodyDeadlines {
  /** Call it if the route reads the body as a stream and checks for stalls itself. */
  lift(request: IncomingMessage): void
  /** Call it when the route stops reading: the rest of the body has to arrive within the deadline, from now. */
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

/** Whether the headers announce a body: a request without either header has no body. RFC 9112 section 6.3 */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}
