import { type Server, type Socket } from 'node:net'
import { type LoopbackListener } from './loopback-listener.ts'

/** A server at a port at which `berth up` listens (ADR 73): it gets each connection from there. */
export interface HeldListener extends LoopbackListener {
  take(socket: Socket): void
}

/** @param onConnection called with each connection, as for a listener of our own */
export function createHeldListener(
  port: number,
  onConnection: (socket: Socket) => void,
  create: () => Server,
): HeldListener {
  const server = create()
  server.on('connection', onConnection)
  // On this event Node starts to check the deadlines of connections.
  server.emit('listening')
  return {
    port,
    addresses: [],
    take(socket) {
      // The same setting as for connections that Node's HTTP servers accept.
      socket.allowHalfOpen = true
      server.emit('connection', socket)
    },
    close: () => new Promise(resolve => void server.close(() => resolve())),
  }
}
