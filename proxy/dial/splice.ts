import { type Socket } from 'node:net'
import { readSteadily } from '#manager/tunnel-end'

/**
 * Joins two connections, byte for byte, until both are closed; then calls `onEnd`. The end of one direction is passed on and
 * leaves the other open; a socket that takes no more pauses the other one; a failure of one resets the other, so that no program
 * takes half an answer for a whole one. Both sockets need `allowHalfOpen`.
 */
export function splice(client: Socket, service: Socket, onEnd: () => void): void {
  // A socket is marked as closed before its event comes.
  const open = new Set([client, service].filter(socket => !socket.closed))
  const over = (socket: Socket) => {
    if (open.delete(socket) && open.size === 0) onEnd()
  }
  const follow = (from: Socket, to: Socket) => {
    readSteadily(from, {
      take: (slab, start, end) => {
        if (to.writable && !to.write(slab.subarray(start, end))) from.pause()
      },
      done: () => to.writableLength === 0,
    })
    to.on('drain', () => from.resume())
    from.on('end', () => to.end())
    from.on('error', () => from.destroy())
    from.on('close', () => {
      if (!isOrderly(from)) to.resetAndDestroy()
      over(from)
    })
    // The end of `from` may have come while `to` was dialled.
    if (from.readableEnded) to.end()
    else from.resume()
  }
  follow(client, service)
  follow(service, client)
  // Either socket may have broken before anything listened here.
  if (client.destroyed) service.resetAndDestroy()
  if (service.destroyed) client.resetAndDestroy()
  if (open.size === 0) onEnd()
}

/** Whether both directions of a closed connection have ended by themselves. */
export function isOrderly({ readableEnded, writableFinished }: Socket): boolean {
  return readableEnded && writableFinished
}
