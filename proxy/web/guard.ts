import { type IncomingMessage } from 'node:http'
import { AppError } from '#manager/contract'

/** Names under which this server may be addressed: lower-case values of the Host field. */
export type HostNames = ReadonlySet<string>

export function hostNames(port: number, allowed: readonly string[]): HostNames {
  const more = allowed.flatMap(name => (name.includes(':') ? name : [name, `${name}:${port}`]))
  return new Set([`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, ...more])
}

/**
 * Refuses what no page of ours would send, before anything is read or dialled.
 *
 * Threat model: any web page can make a browser send requests here, and any DNS name can be made to resolve to 127.0.0.1.
 * Host must be a name we serve (DNS rebinding, ASVS 3.4.2). What changes something, and every upgrade (WebSockets know
 * no CORS), must come from the very origin it goes to, if it comes from a page at all; programs send no Origin and prove
 * themselves by what they carry.
 *
 * @throws AppError `foreign_origin`
 */
export function checkAddress(request: IncomingMessage, names: HostNames, kind: 'request' | 'upgrade'): void {
  const hosts = request.headersDistinct.host ?? []
  const host = hosts[0]?.toLowerCase() ?? ''
  if (hosts.length !== 1 || !names.has(host)) {
    throw new AppError('foreign_origin', { why: 'This server is not known under that name; see BERTH_ALLOWED_HOSTS.' })
  }
  const isReading = kind === 'request' && (request.method === 'GET' || request.method === 'HEAD')
  const origins = request.headersDistinct.origin ?? []
  if (isReading || origins.length === 0) return
  const [origin] = origins
  if (origins.length !== 1 || (origin !== `http://${host}` && origin !== `https://${host}`)) {
    throw new AppError('foreign_origin', { why: 'Another web page sent this request; it was not carried out.' })
  }
}

/**
 * True where the browser runs on this computer. A reverse proxy here connects from loopback too, but says for whom; a page
 * cannot make its browser leave such a field out or add it across origins.
 */
export function isFromThisComputer(request: IncomingMessage): boolean {
  const isRelayed = request.headers['x-forwarded-for'] !== undefined || request.headers.forwarded !== undefined
  return !isRelayed && isLoopbackAddress(request.socket.remoteAddress)
}

export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(::1|(::ffff:)?127(\.\d+){3})$/.test(address)
}
