import { type IncomingMessage, type ServerResponse } from 'node:http'

/**
 * Grace period for an upload that is answered before it was read completely. Closing the connection while the client still
 * sends causes a reset, which may overtake the answer. So the upload is read first, until it pauses for LINGER_MS, or for
 * MOST_LINGERS times that. RFC 9112 section 9.6
 */
const LINGER_MS = 2000
const MOST_LINGERS = 5

/**
 * Call before the head of an answer: if the request has not arrived completely, the answer says `Connection: close`. Otherwise
 * the client sends its next request on a connection that is about to end. RFC 9112 section 9.3
 */
export function closeIfEarly(request: IncomingMessage, response: ServerResponse): void {
  if (!request.complete) response.shouldKeepAlive = false
}

/**
 * Calls `act` (to end the answer) once the request has arrived completely or its time is up; not at all if the client went
 * away. The caller must read the request in the meantime. The answer to a request that never ended ends the connection too.
 */
export function whenUploaded(request: IncomingMessage, response: ServerResponse, act: () => void): void {
  if (request.complete) {
    act()
    return
  }
  const once = () => {
    clearInterval(timer)
    request.off('end', once)
    response.off('close', once)
    if (response.destroyed) return
    if (!request.complete) {
      if (!response.headersSent) closeIfEarly(request, response)
      response.on('close', () => request.destroy())
    }
    act()
  }
  let seen = request.socket.bytesRead
  let lingers = 0
  const timer = setInterval(() => {
    const isMoving = request.socket.bytesRead > seen
    seen = request.socket.bytesRead
    if (!isMoving || ++lingers >= MOST_LINGERS) once()
  }, LINGER_MS)
  request.on('end', once)
  response.on('close', once)
}
