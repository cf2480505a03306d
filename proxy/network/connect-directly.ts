import { connect, isIP, type Socket } from 'node:net'
import type { ConnectionOptions, TLSSocket } from 'node:tls'

/** Host and port of an address, as `net.connect` takes them. */
export function placeOf({ hostname, port, protocol }: URL) {
  const host = hostname.replace(/^\[|\]$/g, '')
  return { host, port: Number(port || (protocol === 'https:' ? 443 : 80)), allowHalfOpen: true }
}

/** Connects to a server, with TLS for https. */
export const connectDirectly = async (url: URL): Promise<Socket> =>
  url.protocol === 'https:' ? await encrypted({ url }) : connect(placeOf(url))

/** Begins TLS with a server, on a socket that leads there or on a new one. Data written before the handshake is complete is buffered. */
export async function encrypted({
  url,
  socket,
  tls,
}: {
  url: URL
  socket?: Socket
  tls?: ConnectionOptions | undefined
}) {
  // Loaded on demand: plain HTTP on loopback needs no TLS, and loading it takes as long as starting Node.
  const { connect: connectTls } = await import('node:tls')
  const place = placeOf(url)
  const to = socket ? { socket, allowHalfOpen: true } : place
  return connectTls({ ...tls, ...to, ...(isIP(place.host) ? {} : { servername: place.host }) })
}

/** Waits until the handshake, which verifies the certificate, is complete. @throws its error; the signal's reason */
export async function untilSecure(socket: TLSSocket, signal?: AbortSignal): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const onClose = () => reject(new Error('the connection was closed during the TLS handshake'))
  const onAbort = () => reject(signal?.reason as Error)
  socket
    .once('secureConnect', () => resolve(undefined))
    .once('error', reject)
    .once('close', onClose)
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    await promise
  } catch (error) {
    socket.on('error', () => undefined).destroy()
    throw error
  } finally {
    socket.off('error', reject).off('close', onClose)
    signal?.removeEventListener('abort', onAbort)
  }
  return socket
}
