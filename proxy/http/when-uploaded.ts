import { type IncomingMessage, type ServerResponse } from 'node:http'

/**
 * A request may be answered before all of it was read. Who hangs up on a client that still sends makes a reset, and the
 * reset may overtake the answer: what the client sends is read for this long first. RFC 9112 section 9.6
 */
const LINGER_MS = 2000

/**
 * Acts (ends the answer) once the request is here in full or has had its time; not at all if the client went away. Somebody
 * has to read the request meanwhile. With the answer to one that never ended ends the connection.
 */
export function whenUploaded(request: IncomingMessage, response: ServerResponse, act: () => void): void {
  if (request.complete) {
    act()
    return
  }
  const once = () => {
    clearTimeout(timer)
    request.off('end', once)
    if (response.destroyed) return
    if (!request.complete) response.on('close', () => request.destroy())
    act()
  }
  const timer = setTimeout(once, LINGER_MS)
  request.on('end', once)
  response.on('close', once)
}
