import { type IncomingMessage } from 'node:http'
import { hasBody } from '#base/raw-headers'

/**
 * Names of protocols that are never tunnelled. They are other forms of HTTP, or TLS around it: later requests would pass neither the gate
 * of an app nor the checks of the console.
 */
const FORMS_OF_HTTP = new Set(['http', 'h2', 'h2c', 'h3', 'tls'])

/** The protocols of an Upgrade field that may be tunnelled, in the order of the client; empty if there is none. */
export function tunnelledProtocols(upgrade: string | undefined): string[] {
  const offered = (upgrade ?? '').split(',').map(protocol => protocol.trim())
  return offered.filter(
    protocol => protocol !== '' && !FORMS_OF_HTTP.has(protocol.split('/', 1)[0]?.toLowerCase() ?? ''),
  )
}

/**
 * Whether a request that offers an upgrade is forwarded as one. The others are ordinary requests whose offer is ignored, as
 * RFC 9110 section 7.8 allows every server: `curl --http2`, Java's HttpClient and Apache HttpClient 5.4 offer HTTP/2 or TLS with each
 * request on a plain connection. A request with a body is one of them too, because an upgrade has no way to pass its body on.
 *
 * Known limit: Node's parser loses what a client sends behind such a request in the same packet. A client that offers an upgrade
 * waits for the answer first, because it cannot know which protocol the rest would be read in.
 */
export function isTunnelRequest({ httpVersion, headers, rawHeaders }: IncomingMessage): boolean {
  return httpVersion !== '1.0' && !hasBody(rawHeaders) && tunnelledProtocols(headers.upgrade).length > 0
}
