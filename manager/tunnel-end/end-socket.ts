import { type TunnelSocket } from './tunnel-end-options.ts'

/** Ends the writing direction once; a second end() would create an error that nobody sees. */
export function finish(socket: TunnelSocket): void {
  if (socket.writable) socket.end()
}

/** Closes both directions at once. The peer of a TCP socket sees a reset, so it cannot take a partial answer for a complete one. */
export function reset(socket: TunnelSocket): void {
  try {
    socket.resetAndDestroy?.()
  } catch {
    // This is no TCP socket (an exec of the engine): a reset cannot be sent, only an end.
  }
  socket.destroy()
}
