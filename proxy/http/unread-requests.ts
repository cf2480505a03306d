import { type Server } from 'node:http'
import { type Socket } from 'node:net'

/** Time to read what a client still sends: closing earlier causes a reset that overtakes the answer. */
const LINGER_MS = 2_000

/**
 * Answers requests that Node's parser refuses before there is a request object: a head that is too long, or too slow, or no HTTP.
 *
 * @param answerTo makes the whole answer, which has to say `Connection: close`, to an error of this code
 */
export function answerUnread(server: Server, answerTo: (code: string | undefined) => string): void {
  const answered = new WeakSet<Socket>()
  /** Number of responses in flight: our answer would be taken for a part of them, so the connection ends after the last of them. */
  const busy = new WeakMap<Socket, number>()
  server.on('request', ({ socket }, response) => {
    busy.set(socket, (busy.get(socket) ?? 0) + 1)
    response.once('close', () => {
      const left = (busy.get(socket) ?? 1) - 1
      busy.set(socket, left)
      if (left === 0 && answered.has(socket)) socket.destroySoon()
    })
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // The rest of a refused request is refused again, piece by piece: ignore it.
    if (answered.has(socket)) return
    answered.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    if ((busy.get(socket) ?? 0) > 0) return
    const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
    socket.end(answerTo(error.code))
    if (!isTooLarge) socket.once('finish', () => socket.destroy())
    else setTimeout(() => socket.destroy(), LINGER_MS).unref()
  })
}
