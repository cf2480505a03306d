import { STATUS_CODES } from 'node:http'
import { type Duplex } from 'node:stream'

/** A whole HTTP answer on a socket that was meant to be upgraded. The connection ends with it. */
export function answerRaw(
  socket: Duplex,
  answer: { readonly status: number; readonly type: string; readonly body: string },
): void {
  if (socket.destroyed) return
  const head = [
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
    `Content-Type: ${answer.type}`,
    `Content-Length: ${Buffer.byteLength(answer.body)}`,
    'Cache-Control: no-store',
    'Connection: close',
  ]
  socket.on('error', () => undefined)
  socket.end(`${head.join('\r\n')}\r\n\r\n${answer.body}`)
}
