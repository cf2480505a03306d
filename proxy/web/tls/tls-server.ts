import { createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net'
import { type Server } from 'node:http'
import { type ServedCertificate } from './certificate.ts'

/** First byte of a TLS handshake (RFC 8446 section 5.1); no HTTP request begins with it. */
const HANDSHAKE = 0x16
/** The same options as in `create-server.ts`, whose servers apply them only to connections that they accept themselves. */
const CONNECTIONS = { noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000, allowHalfOpen: true }
/** Limit for the first byte of a connection. */
const FIRST_BYTE_MS = 30_000

export interface TwoServers {
  readonly tls: Server
  /** Answers requests that came without TLS. */
  readonly plain: Server
}

/**
 * A server that speaks TLS, and redirects clients without TLS at the same port, so that links and bookmarks from before TLS was turned on
 * keep working.
 *
 * Threat model: everybody may connect, and need not say anything. The first byte has a deadline; then the connection belongs to one of the
 * two HTTP servers, with their deadlines. The plain one answers nothing but redirects (`plain-answers.ts`).
 */
export function createTlsServer({ tls, plain }: TwoServers): NetServer {
  // On this event Node starts to check the deadlines of connections that other listeners accepted.
  for (const server of [tls, plain]) server.emit('listening')
  const server = createNetServer(CONNECTIONS, socket => {
    byFirstByte(socket, byte => (byte === HANDSHAKE ? tls : plain).emit('connection', socket))
  })
  server.on('close', () => {
    for (const inner of [tls, plain]) inner.close().closeAllConnections()
  })
  return server
}

function byFirstByte(socket: Socket, hand: (byte: number) => void): void {
  const onError = () => socket.destroy()
  socket.on('error', onError).setTimeout(FIRST_BYTE_MS, onError)
  socket.once('readable', () => {
    const chunk = socket.read() as Buffer | null
    const [byte] = chunk ?? []
    if (chunk === null || byte === undefined) {
      socket.destroy()
      return
    }
    socket.setTimeout(0, onError)
    socket.unshift(chunk)
    hand(byte)
  })
}

/** TLS options of a certificate. New connections get the new one, open connections keep theirs. */
export const tlsOptions = ({ cert, key }: ServedCertificate) => ({ cert, key, minVersion: 'TLSv1.2' as const })
