import { createHash, type X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { AppError } from '#manager/contract'

/** SHA-256 of the public key, so that a renewed certificate with the same key stays trusted. */
export function keyFingerprint(certificate: X509Certificate): string {
  return createHash('sha256')
    .update(certificate.publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex')
}

/**
 * Opens a TLS connection. Threat model: with a fingerprint, the agent talks only to the holder of that key, whatever its certificate says;
 * without one, a system authority must vouch for the certificate. Only data written after `secureConnect` is certain to reach that holder.
 */
export function connectPinned(options: ConnectionOptions, fingerprint: string | undefined): TLSSocket {
  const name = options.servername ?? options.host ?? ''
  const socket = connect({
    ...options,
    // Drop `path`, which is the path of an HTTP request here; `tls.connect` would take it for a Unix socket.
    path: undefined,
    ...(isIP(name) === 0 ? { servername: name } : {}),
    ...(fingerprint === undefined ? {} : { rejectUnauthorized: false }),
  })
  if (fingerprint === undefined) return socket
  // This is the first listener: when later listeners write, the socket has either passed the check or been destroyed.
  return socket.once('secureConnect', () => {
    const certificate = socket.getPeerX509Certificate()
    if (certificate && keyFingerprint(certificate) === fingerprint) return
    socket.destroy(
      new AppError('forbidden', {
        why: 'The manager has another key than when this agent joined. If that is intended, join again: make a join string (berth admin agent join-token) and start the agent with it as BERTH_JOIN.',
      }),
    )
  })
}
