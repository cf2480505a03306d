import { type IncomingMessage } from 'node:http'
import { AppError, CSRF_HEADER } from '#manager/contract'
import { type Caller, credentialOf } from '../users/authorize.ts'
import { type Logins } from '../users/logins.ts'
import { type RateState } from '../users/rate-limits.ts'
import { equalSecrets } from '../users/secrets.ts'
import { type Signers } from '../users/signers.ts'
import { type UserRow } from '../store/users.ts'
import { forwarded } from './origin.ts'
import { isSignature, readSignature, type SignedArea } from './signatures/read-signature.ts'

/** What a request proved, and what was known when it did. */
export interface Credentials {
  readonly caller: Caller
  readonly user: UserRow
  readonly from: 'cookie' | 'bearer' | 'signature'
  /** Empty where no page is involved. */
  readonly csrf: string
  readonly expiresAt: Date
  /** What is opened with it ends with this: the id of the sign-in, or the access key. */
  readonly endsWith: string
  /** Only of a signed request. */
  readonly signed?: { readonly bodyHash: string; readonly rate: RateState }
}

/** What requests are authenticated with. */
export interface Authenticators {
  readonly logins: Logins
  readonly signers: Signers
}

/**
 * Who sends this request: a signature or a bearer token wins over a cookie, and an Authorization header that is not good is
 * never passed over for the cookie. Undefined where there is neither.
 *
 * @throws AppError `not_signed_in` for credentials that are unknown or over; as `Signers.authenticate` for signatures
 */
export async function readCredentials(
  { logins, signers }: Authenticators,
  request: IncomingMessage,
): Promise<Credentials | undefined> {
  const { authorization, cookie } = request.headers
  if (authorization !== undefined && isSignature(authorization)) return readSigned(signers, request)
  const from = authorization === undefined ? 'cookie' : 'bearer'
  const token = authorization === undefined ? readCookie(cookie, cookieName(request)) : readBearer(authorization)
  if (token === undefined && authorization === undefined) return undefined
  const login = token === undefined ? undefined : await logins.authenticate(token)
  if (!login || token === undefined) throw new AppError('not_signed_in', { why: 'The sign-in has ended.' })
  const { caller, user, expiresAt } = login
  return {
    caller,
    user,
    from,
    csrf: from === 'cookie' ? login.csrf : '',
    expiresAt,
    endsWith: credentialOf(caller),
  }
}

async function readSigned(signers: Signers, request: IncomingMessage): Promise<Credentials> {
  const { caller, user, bodyHash, rate, expiresAt } = await signers.authenticate(
    readSignature(request, areaOf(request.url ?? '/')),
  )
  const { keypair } = caller
  return {
    caller,
    user,
    from: 'signature',
    csrf: '',
    expiresAt,
    endsWith: keypair,
    signed: { bodyHash, rate },
  }
}

function areaOf(url: string): SignedArea {
  if (url.startsWith('/api/v1/')) return 'api'
  return url.startsWith('/stream/') ? 'stream' : 'other'
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
export function checkCsrf(request: IncomingMessage, { from, csrf }: Credentials): void {
  if (from !== 'cookie' || request.method === 'GET' || request.method === 'HEAD') return
  const sent = request.headers[CSRF_HEADER]
  if (typeof sent !== 'string' || !equalSecrets(sent, csrf)) {
    throw new AppError('csrf_failed', { why: 'Reload the page and try again.' })
  }
}

/**
 * For upgrades of users (terminal, tunnels). A WebSocket has no CSRF header, so with a cookie the Origin must be there;
 * that it is ours was checked before.
 *
 * @throws AppError `not_signed_in`, `foreign_origin`; as `Signers.authenticate` for signatures
 */
export function createAuthenticateUpgrade(
  authenticators: Authenticators,
): (request: IncomingMessage) => Promise<Caller> {
  return async request => {
    const credentials = await readCredentials(authenticators, request)
    if (!credentials) throw new AppError('not_signed_in')
    if (credentials.from === 'cookie' && request.headers.origin === undefined) {
      throw new AppError('foreign_origin', { why: 'A browser names its page; this request does not.' })
    }
    return credentials.caller
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
