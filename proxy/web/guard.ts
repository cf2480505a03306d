import { type IncomingMessage } from 'node:http'
import { AppError, because } from '#manager/contract'

/** Names under which this server may be addressed: lower-case values of the Host field. */
export type HostNames = ReadonlySet<string>

export function hostNames(port: number, allowed: readonly string[]): HostNames {
  const more = allowed.flatMap(name => (name.includes(':') ? name : [name, `${name}:${port}`]))
  const here = ['localhost', '127.0.0.1', '[::1]']
  // Browsers leave out the port that a scheme has by default.
  const short = port === 80 || port === 443 ? here : []
  return new Set([...here.map(name => `${name}:${port}`), ...short, ...more])
}

/** The browser says that page and target are same-origin, yet the names differ: a reverse proxy has changed the Host field. */
export function isRelayedWithAnotherName({ headers }: IncomingMessage): boolean {
  const { origin, host = '' } = headers
  return headers['sec-fetch-site'] === 'same-origin' && origin !== undefined && !isOriginOf(origin, host.toLowerCase())
}

const isOriginOf = (origin: string | undefined, host: string) =>
  origin === `http://${host}` || origin === `https://${host}`

/** Whether the Host field is a name of this server. A second field could show us one name and somebody else another. */
export function isServed(request: IncomingMessage, names: HostNames): boolean {
  const hosts = request.headersDistinct.host ?? []
  return hosts.length === 1 && names.has(hosts[0]?.toLowerCase() ?? '')
}

/**
 * Refuses requests that no page of ours would send, before anything is read or dialled.
 *
 * Threat model: any web page can make a browser send requests here, and any DNS name can be made to resolve to 127.0.0.1. Host
 * must be a name we serve (DNS rebinding, ASVS 3.4.2). A request that changes something, and every upgrade (WebSockets know no
 * CORS), must come from its target's own origin if it comes from a page at all. Programs send no Origin and authenticate by the
 * credentials they carry.
 *
 * @throws AppError `foreign_origin`
 */
export function checkAddress(request: IncomingMessage, names: HostNames, kind: 'request' | 'upgrade'): void {
  if (!isServed(request, names)) throw new AppError('foreign_origin', because('host_name_unknown'))
  const host = request.headers.host?.toLowerCase() ?? ''
  const isReading = kind === 'request' && (request.method === 'GET' || request.method === 'HEAD')
  const origins = request.headersDistinct.origin ?? []
  if (isReading || origins.length === 0) return
  if (origins.length !== 1 || !isOriginOf(origins[0], host)) {
    throw new AppError(
      'foreign_origin',
      because(isRelayedWithAnotherName(request) ? 'host_field_changed' : 'sent_by_other_page'),
    )
  }
}

export function isLoopbackAddress(address: string | undefined): boolean {
  return address !== undefined && /^(::1|(::ffff:)?127(\.\d+){3})$/.test(address)
}
