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
 * request, or during a stall after it, is noticed by the first bytes of the answer, or by the kernel's keep-alive probe a minute later.
 */
export function answerHalfClosed(server: Server): void {
  ;(server as Server & HalfOpen).httpAllowHalfOpen = true
  const latest = new WeakMap<Socket, Latest>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const isFirst = !latest.has(socket)
    const last: Latest = { response, mayEnd: request.headers['user-agent']?.startsWith('Mozilla/') !== true }
    latest.set(socket, last)
    if (last.mayEnd) {
      if (hasBody(request.rawHeaders)) request.once('end', () => expectNoEndLater(last))
      else expectNoEndLater(last)
    }
    if (!isFirst) return
    socket.once('end', () => {
      const { mayEnd, response: answer } = latest.get(socket) ?? last
      if (!mayEnd || answer.headersSent) socket.end()
    })
  })
}

/** The latest request of a connection. */
interface Latest {
  readonly response: ServerResponse
  /** The client of this request may end its direction and still wait for the answer. */
  mayEnd: boolean
}

/** After a stall of this process, an end that arrived in time is read late; so the timer lets the event loop read once more. */
function expectNoEndLater(last: Latest): void {
  const readOnce = () => setImmediate(() => (last.mayEnd = false)).unref()
  setTimeout(readOnce, SOON_MS).unref()
}
