import { connect, isIP, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'

/** Host and port of an address, as `net.connect` takes them. */
export function placeOf({ hostname, port, protocol }: URL) {
  const host = hostname.replace(/^\[|\]$/g, '')
  return { host, port: Number(port || (protocol === 'https:' ? 443 : 80)), allowHalfOpen: true }
}

/** Connects to a server, with TLS for https. */
export const connectDirectly = async (url: URL, tls?: ConnectionOptions): Promise<Socket> =>
  url.protocol === 'https:' ? await encrypted({ url, tls }) : connect(placeOf(url))

/** Begins TLS with a server, on a socket that leads there or on a new one. What is written before it is up waits. */
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
