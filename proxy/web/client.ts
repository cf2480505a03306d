import { type IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

export interface Client {
  readonly address: string
  readonly scheme: 'http' | 'https'
}

/**
 * The address that sent this request, and the scheme with which it left the browser.
 *
 * Threat model: anybody can write `x-forwarded-*` fields. They are believed from the addresses the operator named, not even
 * from this computer otherwise, where every user can connect; and one hop only: the last address of the list is the one
 * that the trusted peer itself has seen, those before it are the client's own words.
 *
 * The scheme is https also where a trusted proxy does not say so but the browser does, by an Origin of https: it sends one with
 * everything that changes something, signing in included, so the cookie gets `Secure` behind a proxy without
 * X-Forwarded-Proto as well. Refusing the sign-in instead would lock everybody out of a Berth whose proxy an upgrade left as it
 * was. The field cannot mislead: browsers name https only for a page that they loaded over https, so they take the cookie;
 * another program that makes it up changes its own cookie.
 */
export function clientOf(request: IncomingMessage, trusted: readonly string[]): Client {
  const peer = plainAddress(request.socket.remoteAddress ?? '')
  const byOrigin = isHttpsByOrigin(request) ? 'https' : 'http'
  if (!trusted.includes(peer)) return { address: peer, scheme: byOrigin }
  const named = plainAddress(lastOf(request, 'x-forwarded-for') ?? '')
  return {
    address: isIP(named) === 0 ? peer : named,
    scheme: lastOf(request, 'x-forwarded-proto') === 'https' ? 'https' : byOrigin,
  }
}

/** The browser itself names our own address with https, although no reverse proxy may have told us. */
export function isHttpsByOrigin({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && headers.origin === `https://${headers.host?.toLowerCase() ?? ''}`
}

function lastOf(request: IncomingMessage, name: string): string | undefined {
  return request.headersDistinct[name]?.at(-1)?.split(',').at(-1)?.trim().toLowerCase()
}

/** IPv4 as itself, also where the socket speaks both. */
export const plainAddress = (address: string) => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
