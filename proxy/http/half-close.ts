import { type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { hasBody } from '#base/raw-headers'

/** Node reads this property of its server; its types do not know it. */
interface HalfOpen {
  httpAllowHalfOpen: boolean
}

/** The end of a client's direction this soon after a request says that there is no other one: it was sent with the request. */
const SOON_MS = 100

/**
 * Lets clients half-close after a request and still get the answer: `nc -N`, and some HTTP/1.0 clients. Node would end the connection.
 *
 * On the wire, a client that gave up looks the same, and its request should end at the app too. Browsers never half-close, so an end means
 * that they have gone; so does an end that comes later than the request, or after the answer has begun. A client that goes right after its
 * request is noticed by the first bytes of the answer, or by the kernel's keep-alive probe.
 */
export function answerHalfClosed(server: Server): void {
  ;(server as Server & HalfOpen).httpAllowHalfOpen = true
  const latest = new WeakMap<Socket, Latest>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const isFirst = !latest.has(socket)
    const readAt = hasBody(request.rawHeaders) ? Infinity : performance.now()
    const last = { request, response, readAt }
    latest.set(socket, last)
    request.once('end', () => (last.readAt = performance.now()))
    if (!isFirst) return
    socket.once('end', () => {
      if (!waitsForAnswer(latest.get(socket))) socket.end()
    })
  })
}

/** The latest request of a connection, and when it was read to its end; it may have arrived long before. */
interface Latest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readAt: number
}

function waitsForAnswer(latest: Latest | undefined): boolean {
  if (!latest || latest.response.headersSent) return false
  if (latest.request.headers['user-agent']?.startsWith('Mozilla/') === true) return false
  return performance.now() - latest.readAt < SOON_MS
}
