import { type Server } from 'node:http'
import { type Socket } from 'node:net'
import { endAfterAnswers } from './pipeline.ts'

/** Time to read what a client still sends: closing earlier causes a reset that overtakes the answer. */
const LINGER_MS = 2_000

/** A request that the parser has refused. */
export interface UnreadRequest {
  /** Code of the error, such as `HPE_HEADER_OVERFLOW`. */
  readonly code: string | undefined
  /** Value of its Accept field, if that has been found. */
  readonly accept: string | undefined
}

/**
 * Answers requests that Node's parser refuses before there is a request object: a head that is too long, or too slow, or no HTTP. While
 * other answers are being sent, ours would be taken for a part of them, so the connection is then only ended after the last of them.
 *
 * @param server of `createHttpServer`
 * @param answerTo makes the whole answer, which has to say `Connection: close`
 */
export function answerUnread(server: Server, answerTo: (request: UnreadRequest) => string): void {
  const answered = new WeakSet<Socket>()
  server.on('clientError', (error: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket) => {
    // The rest of a refused request is refused again, piece by piece: ignore it.
    if (answered.has(socket)) return
    answered.add(socket)
    if (!socket.writable || error.code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    if (endAfterAnswers(socket)) return
    const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
    socket.end(answerTo({ code: error.code, accept: acceptIn(error.rawPacket) }))
    if (!isTooLarge) socket.once('finish', () => socket.destroy())
    else setTimeout(() => socket.destroy(), LINGER_MS).unref()
  })
}

/** @param bytes in which the parser found the fault: usually the whole head */
const acceptIn = (bytes: Buffer | undefined) => /\r\naccept:([^\r\n]*)/i.exec(bytes?.toString('latin1') ?? '')?.[1]
