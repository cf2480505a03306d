import { type Duplex } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'

/** Deadline for the handshake. An app on a busy host takes a second or two. */
const HANDSHAKE_MS = 15_000

/**
 * Speaks TLS to an app that requires it (`https` in its label, or in the name of a port).
 *
 * Threat model: the app's certificate is not checked. Apps make theirs themselves, for names that are not ours, so there is nothing to
 * check it against. Nor is it needed: the tunnel is authenticated and encrypted up to the agent, and ends at the container of the session,
 * so whoever answers there is in the session already. This TLS adds no security; it is the form of bytes that the app understands.
 *
 * @param stream to the app; it belongs to the returned one
 * @throws the error of the handshake, or the reason of the signal
 */
export async function secureStream(stream: Duplex, signal: AbortSignal): Promise<Duplex> {
  // A server with several names uses its certificate for localhost; without a name (SNI) some servers refuse.
  const secure = connect({
    socket: stream,
    servername: 'localhost',
    rejectUnauthorized: false,
    ALPNProtocols: ['http/1.1'],
  })
  secure.on('error', () => undefined)
  secure.once('close', () => stream.destroy())
  stream.once('error', error => secure.destroy(error))
  stream.once('close', () => {
    // After an orderly end the rest may still have to be read.
    if (!stream.readableEnded) secure.destroy()
  })
  await handshakeOf(secure, signal)
  return secure
}

function handshakeOf(secure: TLSSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      secure.destroy(new Error('The app did not answer the TLS handshake.'))
    }, HANDSHAKE_MS)
    const abort = () => {
      secure.destroy(signal.reason as Error)
    }
    const settle = () => {
      clearTimeout(late)
      signal.removeEventListener('abort', abort)
    }
    secure.once('secureConnect', () => {
      settle()
      resolve()
    })
    secure.once('error', reject)
    secure.once('close', () => {
      settle()
      reject(Object.assign(new Error('The app closed the connection.'), { code: 'ECONNRESET' }))
    })
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
}
