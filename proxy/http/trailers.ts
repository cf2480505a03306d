import { type IncomingMessage } from 'node:http'
import { type RawHeaders } from '#base/raw-headers'

/** The part of Node's outgoing messages that a forwarder of trailers needs. */
interface TakesTrailers {
  addTrailers(fields: readonly [string, string][]): void
}

/**
 * Trailers that are not forwarded. RFC 9110 section 6.5.1: framing, routing, authentication, modifiers of a request, controls of a
 * response, and the format of the content have no meaning after it. A recipient that merges trailers with its headers would take a cookie,
 * an origin or an address that the forwarder had removed from the headers.
 */
const NEVER_AFTER_THE_BODY =
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|content-(?:length|encoding|type|range|disposition|security-policy.*)|host|origin|referer|forwarded|via|x-(?:forwarded|real|original|http|frame|berth)-.*|set-cookie2?|cookie2?|(?:www-|proxy-).*|authorization|authentication-info|cache-control|expect|max-forwards|pragma|range|if-.*|age|date|expires|location|refresh|retry-after|vary|warning|sec-.*|access-control-.*|clear-site-data|strict-transport-security|cross-origin-.*|service-worker.*|permissions-policy|link)$/

const isForwarded = (name: string) => !NEVER_AFTER_THE_BODY.test(name.toLowerCase())

/** Forwards the trailers of a complete message whose body is forwarded in chunks; in another framing there is no place for them. */
export function forwardTrailers({ rawTrailers }: Pick<IncomingMessage, 'rawTrailers'>, to: TakesTrailers): void {
  const fields: [string, string][] = []
  for (let i = 0; i + 1 < rawTrailers.length; i += 2) {
    const name = rawTrailers[i] ?? ''
    if (isForwarded(name)) fields.push([name, rawTrailers[i + 1] ?? ''])
  }
  if (fields.length > 0) to.addTrailers(fields)
}

/** The field `Trailer` that announces what `forwardTrailers` forwards; empty if there is nothing to announce. */
export function announcedTrailers(raw: RawHeaders): string[] {
  const names = tokensOf(raw, 'trailer').filter(name => name !== '' && isForwarded(name))
  return names.length > 0 ? ['Trailer', names.join(', ')] : []
}

/**
 * `TE: trailers` for the next hop if the client reads trailers. The forwarder reads no other transfer coding than chunks, so other values
 * are dropped. RFC 9110 section 10.1.4: the field belongs to one connection, so Connection names it.
 */
export function acceptedTrailers(raw: RawHeaders): string[] {
  const isAccepted = tokensOf(raw, 'te').some(token => token.toLowerCase() === 'trailers')
  return isAccepted ? ['TE', 'trailers', 'Connection', 'TE'] : []
}

function tokensOf(raw: RawHeaders, field: string): string[] {
  const tokens: string[] = []
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] ?? ''
    if (name.length === field.length && name.toLowerCase() === field)
      tokens.push(...(raw[i + 1] ?? '').split(',').map(token => token.trim()))
  }
  return tokens
}
