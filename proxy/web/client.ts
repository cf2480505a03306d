import { type IncomingMessage } from 'node:http'
import { isIP } from 'node:net'

export interface Client {
  readonly address: string
  readonly scheme: 'http' | 'https'
}

/**
 * Who sent this request, and how it left the browser.
 *
 * Threat model: anybody can write `x-forwarded-*` fields. They are believed from the addresses the operator named, not even
 * from this computer otherwise, where every user can connect; and one hop only: the last address of the list is the one
 * that the trusted peer itself has seen, those before it are the client's own words.
 */
export function clientOf(request: IncomingMessage, trusted: readonly string[]): Client {
  const peer = plainAddress(request.socket.remoteAddress ?? '')
  if (!trusted.includes(peer)) return { address: peer, scheme: 'http' }
  const named = plainAddress(lastOf(request, 'x-forwarded-for') ?? '')
  return {
    address: isIP(named) === 0 ? peer : named,
    scheme: lastOf(request, 'x-forwarded-proto') === 'https' ? 'https' : 'http',
  }
}

function lastOf(request: IncomingMessage, name: string): string | undefined {
  return request.headersDistinct[name]?.at(-1)?.split(',').at(-1)?.trim().toLowerCase()
}

/** IPv4 as itself, also where the socket speaks both. */
export const plainAddress = (address: string) => address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
