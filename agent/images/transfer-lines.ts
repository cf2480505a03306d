import { type Socket } from 'node:net'
import { parseJson } from '#base/parse-json'

/** The other end has broken off, or said something that is not of the protocol. */
export class TransferBroken extends Error {
  override readonly name = 'TransferBroken'
}

export interface TransferReader {
  /** The next line. @throws TransferBroken if there is none, or it is longer than `most` bytes */
  line(most: number): Promise<unknown>
  /** Exactly so many of the next bytes, as they arrive. @throws TransferBroken if fewer come */
  bytes(count: number): AsyncGenerator<Buffer, void, undefined>
}

const LF = 0x0a

/** Reads lines and counted bytes from a socket. A slow reader slows the writer. */
export function readTransfer(socket: Socket): TransferReader {
  const chunks = socket.iterator({ destroyOnReturn: false })
  let rest: Buffer = Buffer.alloc(0)

  async function more(): Promise<Buffer> {
    const next = await chunks.next().catch((error: unknown) => {
      throw new TransferBroken('the socket broke', { cause: error })
    })
    if (next.done) throw new TransferBroken('the other end has left')
    return next.value as Buffer
  }

  return {
    async line(most) {
      let searched = 0
      for (;;) {
        const end = rest.indexOf(LF, searched)
        if (end > most || (end < 0 && rest.length > most)) throw new TransferBroken('a line is too long')
        if (end >= 0) {
          const text = rest.toString('utf8', 0, end)
          rest = rest.subarray(end + 1)
          return parseJson(text)
        }
        searched = rest.length
        const chunk = await more()
        rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      }
    },
    async *bytes(count) {
      for (let left = count; left > 0;) {
        const chunk = rest.length > 0 ? rest : await more()
        const part = chunk.subarray(0, left)
        rest = chunk.subarray(part.length)
        left -= part.length
        yield part
      }
    },
  }
}

export const lineOf = (message: object): Buffer => Buffer.from(`${JSON.stringify(message)}\n`)
