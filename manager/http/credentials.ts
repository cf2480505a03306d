import { type IncomingMessage } from 'node:http'
import { AppError, CSRF_HEADER } from '#manager/contract'
import { type Caller } from '../users/authorize.ts'
import { type ActiveLogin, type Logins } from '../users/logins.ts'
import { equalSecrets } from '../users/secrets.ts'
import { forwarded } from './origin.ts'

export interface Credentials {
  readonly token: string
  readonly login: ActiveLogin
  readonly from: 'cookie' | 'bearer'
}

/**
 * Who sends this request: a bearer token wins over a cookie, and an Authorization header that is not good is never passed
 * over for the cookie. Undefined where there is neither.
 *
 * @throws AppError `not_signed_in` for credentials that are unknown or over
 */
export async function readCredentials(logins: Logins, request: IncomingMessage): Promise<Credentials | undefined> {
  const { authorization, cookie } = request.headers
  const from = authorization === undefined ? 'cookie' : 'bearer'
  const token = authorization === undefined ? readCookie(cookie, cookieName(request)) : readBearer(authorization)
  if (token === undefined && authorization === undefined) return undefined
  const login = token === undefined ? undefined : await logins.authenticate(token)
  if (!login || token === undefined) throw new AppError('not_signed_in', { why: 'The sign-in has ended.' })
  return { token, login, from }
}

function readBearer(header: string): string | undefined {
  return /^Bearer ([\w.~+/-]{1,200}=*)$/i.exec(header)?.[1]
}

/**
 * A browser sends its cookie by itself, so a request with it that changes something must also carry what only a page of
 * ours can know.
 *
 * @throws AppError `csrf_failed`
 */
export function checkCsrf(request: IncomingMessage, { from, login }: Credentials): void {
  if (from === 'bearer' || request.method === 'GET' || request.method === 'HEAD') return
  const sent = request.headers[CSRF_HEADER]
  if (typeof sent !== 'string' || !equalSecrets(sent, login.csrf)) {
    throw new AppError('csrf_failed', { why: 'Reload the page and try again.' })
  }
}

/**
 * For upgrades of users (terminal, tunnels). A WebSocket has no CSRF header, so with a cookie the Origin must be there;
 * that it is ours was checked before.
 *
 * @throws AppError `not_signed_in`, `foreign_origin`
 */
export function createAuthenticateUpgrade(logins: Logins): (request: IncomingMessage) => Promise<Caller> {
  return async request => {
    const credentials = await readCredentials(logins, request)
    if (!credentials) throw new AppError('not_signed_in')
    if (credentials.from === 'cookie' && request.headers.origin === undefined) {
      throw new AppError('foreign_origin', { why: 'A browser names its page; this request does not.' })
    }
    return credentials.login.caller
  }
}

/** With the port, because cookies do not know ports: two consoles on one computer would overwrite each other's. */
export function cookieName(request: IncomingMessage): string {
  const { host, https } = forwarded(request)
  return `berth_${/:(\d+)$/.exec(host)?.[1] ?? (https ? '443' : '80')}`
}

/** @param token empty to remove it */
export function cookieHeader(request: IncomingMessage, token: string, maxAgeSeconds: number): string {
  const secure = forwarded(request).https ? '; Secure' : ''
  return `${cookieName(request)}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`
}

function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of header?.split(';') ?? []) {
    const [key = '', value = ''] = pair.trim().split('=', 2)
    if (key === name && value !== '') return value.slice(0, 200)
  }
  return undefined
}
