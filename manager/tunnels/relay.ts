import { type Socket } from 'node:net'
import { reset } from './splice.ts'

/**
 * Joins the data sockets of two agents until both are closed, byte for byte; nothing is read or kept here. A slow reader slows the writer, and
 * a break on one side breaks the other.
 *
 * @returns bytes from `giver` to `taker`
 * @throws the reason of the signal
 */
export async function relay(
  giver: Socket,
  taker: Socket,
  { headers, signal }: { headers: { giver: object; taker: object }; signal: AbortSignal },
): Promise<number> {
  const before = giver.bytesRead
  const cut = () => {
    reset(giver)
    reset(taker)
  }
  const closed = [giver, taker].map(
    socket => new Promise<void>(resolve => (socket.destroyed ? resolve() : socket.once('close', () => resolve()))),
  )
  signal.addEventListener('abort', cut, { once: true })
  // A taker ends its side only when it is done or gone. A giver that waits for its engine would not notice.
  taker.once('end', cut)
  try {
    flow(giver, taker)
    flow(taker, giver)
    giver.write(`${JSON.stringify(headers.giver)}\n`)
    taker.write(`${JSON.stringify(headers.taker)}\n`)
    if (signal.aborted || giver.destroyed || taker.destroyed) cut()
    await Promise.all(closed)
    signal.throwIfAborted()
    return giver.bytesRead - before
  } finally {
    signal.removeEventListener('abort', cut)
  }
}

function flow(from: Socket, to: Socket): void {
  from.pipe(to)
  from.on('error', () => from.destroy())
  from.on('close', () => {
    if (!from.readableEnded) reset(to)
    // An orderly end was passed on; the other side has nothing to say to anybody any more.
    else to.end()
  })
}
