import { type IncomingMessage } from 'node:http'
import { isToken, ORIGIN_SECRET_HEADER, ORIGIN_SECRET_PROTOCOL } from '#manager/contract'
import { originOf } from './origin.ts'

/**
 * A browser's sign-in in two halves, either of which alone is worthless.
 *
 * Threat model: browsers send a cookie to every port of its host name, so any program on this computer that gets the browser
 * to visit its port can read our cookie, and can set cookies of our name. The origin secret closes that gap: the page keeps it
 * in the storage of its origin (scheme, host and port) and sends it with every call. No cookie and no other origin can carry it,
 * so it also proves that our page sent the request (CSRF). The cookie in turn is HttpOnly: script on our page that reads the
 * secret cannot take the sign-in elsewhere. The manager stores one hash of both halves together.
 *
 * Remaining risk: a page on another port of the same name can delete or overwrite the cookie, which signs the browser out.
 */
export interface BrowserHalves {
  /**
   * All values of our cookie: other ports may have set further ones under the same name, with longer paths. The number is limited only by
   * the size of a header (some 400 values), so planted cookies cannot displace the right one; all are checked with one query.
   */
  readonly cookies: readonly string[]
  readonly originSecret: string
}

const OUR_COOKIE = /^(?:__Host-)?berth_\d{1,5}=(berth_[\w-]{43})$/

/** Reads both halves from a request; undefined if either is missing. */
export function readHalves({ headers }: IncomingMessage): BrowserHalves | undefined {
  const originSecret = originSecretOf(headers)
  const cookies = (headers.cookie ?? '').split(';').flatMap(pair => OUR_COOKIE.exec(pair.trim())?.[1] ?? [])
  if (originSecret === undefined || !isToken(originSecret) || cookies.length === 0) return undefined
  return { cookies: [...new Set(cookies)], originSecret }
}

/**
 * Reads the secret from the header of a call. A page's WebSocket cannot set headers, so it offers the secret as an additional subprotocol.
 */
function originSecretOf(headers: IncomingMessage['headers']): string | undefined {
  const header = headers[ORIGIN_SECRET_HEADER]
  if (typeof header === 'string' && header !== '') return header
  return headers['sec-websocket-protocol']
    ?.split(',')
    .map(protocol => protocol.trim())
    .find(protocol => protocol.startsWith(ORIGIN_SECRET_PROTOCOL))
    ?.slice(ORIGIN_SECRET_PROTOCOL.length)
}

/**
 * Name of our cookie. It contains the port, because cookies ignore ports: two consoles on one computer would overwrite each other's. Over
 * https it has the prefix that prevents other host names of the site from setting it (RFC 6265bis section 4.1.3).
 */
export const cookieName = (request: IncomingMessage) => cookieNameAt(originOf(request))

/** @param origin `host` as in a Host field, with the port unless it is the default */
export function cookieNameAt({ host, https }: { readonly host: string; readonly https: boolean }): string {
  return `${https ? '__Host-' : ''}berth_${/:(\d+)$/.exec(host)?.[1] ?? (https ? '443' : '80')}`
}

/** @param value empty to remove it */
export function cookieHeader(request: IncomingMessage, value: string, maxAgeSeconds: number): string {
  const secure = originOf(request).https ? '; Secure' : ''
  return `${cookieName(request)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`
}
