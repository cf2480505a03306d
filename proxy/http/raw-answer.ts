import { STATUS_CODES } from 'node:http'
import { type Duplex } from 'node:stream'

/** Grace period for the peer to read the end and close the connection itself. */
const LINGER_MS = 2_000
/** An answer is cut off if none of its bytes are sent for this long. */
export const STALLED_MS = 60_000

/**
 * Call before the answer, or the last bytes, on a socket that was meant to be upgraded: Node's server no longer ends it, and half-open
 * connections are allowed, so a peer that reads nothing, or stays, would hold it for ever.
 *
 * @returns a function to call when a part of the answer has moved: it gives the peer another STALLED_MS
 */
export function cutAfterEnd(socket: Duplex, lingerMs = LINGER_MS): () => void {
  if (socket.destroyed) return () => undefined
  const cut = () => socket.destroy()
  let timer = setTimeout(cut, STALLED_MS)
  const linger = () => {
    clearTimeout(timer)
    timer = setTimeout(cut, lingerMs)
  }
  if (socket.writableFinished) linger()
  else socket.once('finish', linger)
  socket.once('close', () => {
    clearTimeout(timer)
  })
  // Further bytes from the peer are discarded: unread bytes would turn the end into a reset.
  socket.resume()
  return () => void timer.refresh()
}

export interface RawAnswer {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** Writes a whole HTTP answer to a socket that was meant to be upgraded, and ends the connection. */
export function answerRaw(socket: Duplex, answer: RawAnswer): void {
  if (socket.destroyed) return
  socket.on('error', () => undefined)
  cutAfterEnd(socket)
  socket.end(rawAnswer(answer))
}

/** An answer of a connection that ends with it. */
export function rawAnswer(answer: RawAnswer): string {
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
    `Content-Type: ${answer.type}`,
    `Content-Length: ${Buffer.byteLength(answer.body)}`,
    'Cache-Control: no-store',
    'Connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${answer.body}`
}
