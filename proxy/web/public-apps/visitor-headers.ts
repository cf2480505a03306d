import { type AppsAddress, type Grant } from '#manager/contract'
import { mapHeaders, type RawHeaders } from '#base/raw-headers'

/** Cookies of Berth: sign-ins at the console, apps that were opened on this computer, visits. No published app sees them. */
const OURS = /^(__Host-|__Secure-)?berth_/

/** Fields by which a forwarder reports its client; from a visitor they are mere claims. Apps that get fields as variables (CGI, WSGI) take `_` for `-`. */
export function isForwarding(given: string): boolean {
  const name = given.replaceAll('_', '-')
  return name === 'forwarded' || name.startsWith('x-forwarded-') || name === 'x-real-ip'
}

/** The headers of a visitor's request as the app gets them. The app's secret is set by us, never by the visitor. */
export function visitorHeaders(
  raw: RawHeaders,
  { inject, address, scheme }: { inject: Grant['inject']; address: string; scheme: 'http' | 'https' },
): string[] {
  const injected = inject?.header.toLowerCase()
  const kept = mapHeaders(raw, (name, value) => {
    if (name === injected || isForwarding(name)) return undefined
    return name === 'cookie' ? withoutOurs(value) : value
  })
  const ours = ['X-Forwarded-For', address, 'X-Forwarded-Proto', scheme]
  return [...kept, ...ours, ...(inject ? [inject.header, inject.value] : [])]
}

/** Response fields that apply to the whole host or its siblings, and so to other people's apps and pages. */
const OF_THE_HOST: ReadonlySet<string> = new Set([
  'clear-site-data',
  'strict-transport-security',
  'alt-svc',
  'public-key-pins',
  // A browser sends reports for as long as their `max_age` says: to the former app of a port, with addresses of the next, keys of links included.
  ...['nel', 'report-to', 'reporting-endpoints', 'use-as-dictionary'],
  // Bound sessions of a site make a browser hold back requests at all ports.
  ...['secure-session-registration', 'sec-session-registration'],
])
/** The app's own policy is replaced by that of `FOR_ITSELF`. */
const RESOURCE_POLICY = 'cross-origin-resource-policy'

/**
 * The headers of an answer as a visitor gets them. A cookie keeps to its own host name: with `Domain` it would reach siblings and perhaps
 * the console. `Clear-Site-Data` would sign visitors out at names beside this one, and `Strict-Transport-Security` decides for all ports of
 * the host. Only the app's own pages may frame it, or use its scripts and pictures: those of siblings are of the same site, and the browser
 * would load them with its visitor's cookie, or from the cache. Requests of siblings are refused by the gate, but over http it cannot know
 * them, and a cached answer never reaches it.
 *
 * Over plain http, browsers send no `Sec-Fetch-Site`. A page with the policy `no-referrer` could not send its own forms then, since they
 * would have `Origin: null`, as those of other sites may have. `same-origin` tells other sites as little (ADR 0066). Browsers do not clear
 * their cache on request there either, so nothing that a port answers is stored: it would be there for the app that has the port next.
 * `Vary: Cookie` would not do, since Chromium's memory cache does not look at it.
 */
export function publicAnswer(raw: RawHeaders, { scheme, kind }: Pick<AppsAddress, 'scheme' | 'kind'>): string[] {
  const isForgotten = scheme === 'http' && kind === 'ports'
  const kept = mapHeaders(raw, (name, value) => {
    if (OF_THE_HOST.has(name) || name === RESOURCE_POLICY || (isForgotten && name === 'cache-control')) return undefined
    if (name === 'referrer-policy' && scheme === 'http') return value.replace(/\bno-referrer(?!-)/gi, 'same-origin')
    return name === 'set-cookie' ? ownCookie(value) : value
  })
  return [...kept, ...FOR_ITSELF, ...(isForgotten ? ['Cache-Control', 'no-store'] : [])]
}

const FOR_ITSELF = ['Content-Security-Policy', "frame-ancestors 'self'", 'Cross-Origin-Resource-Policy', 'same-origin']

export function ownCookie(value: string): string | undefined {
  const [pair = '', ...attributes] = value.split(';')
  // A cookie without a name is sent as its value alone, except by browsers that refuse one with an equals sign.
  if (OURS.test(pair.replace(/^[\s=]+/, ''))) return undefined
  return [pair, ...attributes.filter(attribute => !/^\s*domain\s*(=|$)/i.test(attribute))].join(';')
}

export function withoutOurs(header: string): string | undefined {
  const pairs = header.split(';').map(pair => pair.trim())
  const rest = pairs.filter(pair => pair !== '' && !OURS.test(pair))
  return rest.length > 0 ? rest.join('; ') : undefined
}
