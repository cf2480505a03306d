import { type IncomingMessage } from 'node:http'
import { AppError, because, isToken, type TokenScope } from '#manager/contract'
import { credentialOf } from '../store/identity/credential.ts'
import { type Caller, requireScope } from '../users/authorize.ts'
import { type ActiveLogin } from '../users/login-cache.ts'
import { type Logins } from '../users/logins.ts'
import { type RateState } from '../users/rate-limits.ts'
import { browserToken } from '../users/secrets.ts'
import { type Signers } from '../users/signers.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Adopted, adoptedBy } from './adopted.ts'
import { type BrowserHalves, readHalves } from './browser-sign-in.ts'
import { originOf } from './origin.ts'
import { isSignature, readSignature, type SignedArea } from './signatures/read-signature.ts'

/** Identity that a request proved, with the state that was known at that time. */
export interface Credentials {
  readonly caller: Caller
  readonly user: UserRow
  readonly from: 'cookie' | 'bearer' | 'signature'
  readonly expiresAt: Date
  /** Id of the sign-in, or the access key. Everything opened with these credentials ends with it. */
  readonly endsWith: string
  /** Set only for a signed request. */
  readonly signed?: { readonly bodyHash: string; readonly rate: RateState }
}

/** Services that authenticate requests. */
export interface Authenticators {
  readonly logins: Logins
  readonly signers: Signers
}

/**
 * Authenticates a request. A signature or a bearer token wins over a browser's sign-in, and an invalid Authorization header
 * is refused even if the browser's sign-in is valid. Undefined if the request has neither.
 *
 * @throws AppError `not_signed_in` for credentials that are unknown or have ended; as `Signers.authenticate` for signatures
 */
export async function readCredentials(
  { logins, signers }: Authenticators,
  request: IncomingMessage,
): Promise<Credentials | undefined> {
  const vouched = adoptedBy(request)?.signed
  if (vouched) return readAdopted(signers, vouched)
  const { authorization } = request.headers
  if (authorization !== undefined && isSignature(authorization)) return readSigned(signers, request)
  const from = authorization === undefined ? 'cookie' : 'bearer'
  // A program that took both halves from a page must not use them without the console, e.g. while the console is stopped (ADR 73).
  const halves = authorization === undefined && originOf(request).mayBeOfPage ? readHalves(request) : undefined
  if (authorization === undefined && !halves) return undefined
  const token = authorization === undefined ? undefined : readBearer(authorization)
  const login = halves ? await findBrowser(logins, halves) : token && (await logins.authenticate(token))
  if (!login) throw new AppError('not_signed_in', because('sign_in_ended'))
  const { caller, user, expiresAt } = login
  return { caller, user, from, expiresAt, endsWith: credentialOf(caller) }
}

/**
 * Authenticates a request again, because its body arrived later than its head, or because it lasts. The signature is not checked again,
 * because it is single-use.
 *
 * @throws AppError `not_signed_in`, `signature_invalid`, `keypair_inactive`, `user_inactive`
 */
export async function readCredentialsAgain(
  authenticators: Authenticators,
  request: IncomingMessage,
  before: Credentials,
): Promise<Credentials> {
  if (before.signed) return { ...before, ...(await authenticators.signers.authenticateAgain(before.endsWith)) }
  const now = await readCredentials(authenticators, request)
  if (now?.endsWith === before.endsWith) return now
  throw new AppError('not_signed_in', because('sign_in_ended'))
}

/** Finds the sign-in of the cookie that matches the origin secret; a cookie planted by another port matches no secret. */
function findBrowser(logins: Logins, { cookies, originSecret }: BrowserHalves): Promise<ActiveLogin | undefined> {
  return logins.authenticateOneOf(cookies.map(cookie => browserToken(cookie, originSecret)))
}

/** A call that the adapter makes for a client whose signature it has verified. Keypair and account are read again with each call. */
async function readAdopted(
  signers: Signers,
  { accessKey, expiresAt }: NonNullable<Adopted['signed']>,
): Promise<Credentials> {
  const { caller, user } = await signers.authenticateAgain(accessKey)
  return { caller, user, from: 'signature', expiresAt, endsWith: accessKey }
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
  const token = /^Bearer (\S{1,200})$/i.exec(header)?.[1]
  return token !== undefined && isToken(token) ? token : undefined
}

/**
 * Authenticates upgrades of users (terminal, tunnels, files of folders) and refuses access tokens without the scope. A browser always sends the Origin of its page, so a browser's sign-in without it is
 * refused; the Origin itself was checked before.
 *
 * @throws AppError `not_signed_in`, `forbidden`, `foreign_origin`; as `Signers.authenticate` for signatures
 */
export function createAuthenticateUpgrade(
  authenticators: Authenticators,
  scope: TokenScope,
): (request: IncomingMessage) => Promise<Caller> {
  return async request => {
    const credentials = await readCredentials(authenticators, request)
    if (!credentials) throw new AppError('not_signed_in')
    if (credentials.from === 'cookie' && request.headers.origin === undefined) {
      throw new AppError('foreign_origin', { why: 'The request lacks the header by which a browser names its page.' })
    }
    requireScope(credentials.caller, scope)
    return credentials.caller
  }
}
