import { type TunnelSocket } from './tunnel-end-options.ts'

/** Ends the writing direction once; a second end() would build an error nobody sees. */
export function finish(socket: TunnelSocket): void {
  if (socket.writable) socket.end()
}

/** Closes both directions at once; the peer of a TCP socket sees a reset, so it takes nothing for a whole answer. */
export function reset(socket: TunnelSocket): void {
  try {
    socket.resetAndDestroy?.()
  } catch {
    // Not a TCP socket (an exec of the engine): there is no reset to send, only an end.
  }
  socket.destroy()
}
