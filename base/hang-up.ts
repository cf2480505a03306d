declare const setTimeout: (act: () => void, ms: number) => { unref(): unknown }
declare const clearTimeout: (timer: { unref(): unknown }) => void

/** `Socket` of Node, structurally: this file is compiled without the types of Node. */
export interface EndingSocket {
  readonly destroyed: boolean
  write(text: string): unknown
  end(): unknown
  destroy(): unknown
  resetAndDestroy?(): unknown
  once(event: 'close', act: () => void): unknown
}

/** Time in which a peer that is well ends its side too. */
const LINGER_MS = 2_000

/**
 * Ends a connection, and resets it if the peer does not end its side.
 *
 * Threat model: a peer on this computer that keeps its side open keeps the pair of ports, for as long as it likes. A program without an
 * account could use up all pairs between two addresses in that way, and nobody else on them would get through.
 *
 * @param text sent before
 */
export function hangUp(socket: EndingSocket, text?: string, lingerMs = LINGER_MS): void {
  if (socket.destroyed) return
  const timer = setTimeout(() => reset(socket), lingerMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  if (text !== undefined) socket.write(text)
  socket.end()
}

/** Resets a connection at once. What the peer has not read is lost. */
export function reset(socket: EndingSocket): void {
  try {
    if (socket.resetAndDestroy) socket.resetAndDestroy()
    else socket.destroy()
  } catch {
    // Connections with TLS cannot be reset.
    socket.destroy()
  }
}
