import { type IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { TLSSocket } from 'node:tls'

export interface Client {
  readonly address: string
  readonly scheme: 'http' | 'https'
}

/**
 * The client address of a request, and the scheme with which the request left the browser.
 *
 * Threat model: any client can write `x-forwarded-*` fields. They are trusted only from the addresses that the operator named.
 * Other requests from this computer are not trusted either, because every user of it can connect. Only one hop is trusted: the
 * last address of the list is the one that the trusted peer itself has seen; the addresses before it are the client's own
 * claims.
 *
 * The scheme is also https if a trusted proxy does not say so but the browser does, by an https Origin. A browser sends Origin
 * with every request that changes something, including sign-in, so the cookie gets `Secure` even behind a proxy without
 * X-Forwarded-Proto. Refusing the sign-in instead would lock out all users of a Berth that was upgraded without a change of its
 * proxy. The field cannot mislead: browsers name https only for a page that they loaded over https, so they accept the cookie;
 * another program that forges the field changes only its own cookie.
 */
export function clientOf(request: IncomingMessage, trusted: readonly string[]): Client {
  const peer = plainAddress(request.socket.remoteAddress ?? '')
  const byOrigin = isEncrypted(request) || isHttpsByOrigin(request) ? 'https' : 'http'
  if (!trusted.includes(peer)) return { address: peer, scheme: byOrigin }
  const named = plainAddress(lastOf(request, 'x-forwarded-for') ?? '')
  return {
    address: isIP(named) === 0 ? peer : named,
    scheme: lastOf(request, 'x-forwarded-proto') === 'https' ? 'https' : byOrigin,
  }
}

/** The request came by TLS of our own. */
export const isEncrypted = ({ socket }: IncomingMessage) => socket instanceof TLSSocket

/** The browser's Origin names our own address with https, although perhaps no reverse proxy has told us. */
export function isHttpsByOrigin({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined && headers.origin === `https://${headers.host?.toLowerCase() ?? ''}`
}

function lastOf(request: IncomingMessage, name: string): string | undefined {
  return request.headersDistinct[name]?.at(-1)?.split(',').at(-1)?.trim().toLowerCase()
}

/** An IPv4 address in plain form, even on a dual-stack socket. */
export const plainAddress = (address: string) => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
