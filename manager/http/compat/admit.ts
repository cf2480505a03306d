import { type IncomingMessage } from 'node:http'
import { AppError, because, isToken } from '#manager/contract'
import { type Logins } from '../../users/logins.ts'
import { type Signers } from '../../users/signers.ts'
import { isLoopback, originOf } from '../origin.ts'
import { readOriginalClaim } from '../signatures/read-signature.ts'
import { type Sender } from './own-calls.ts'

/** Prefix of requests in the original's web mode: a cookie instead of signatures. */
export const WEB_PREFIX = '/func'
export const WEB_COOKIE = 'AIOHTTP_SESSION'

/** Services that know who sends a request. */
export interface Doors {
  readonly signers: Pick<Signers, 'authenticate'>
  readonly logins: Pick<Logins, 'authenticate'>
}

export interface KnownSender {
  readonly sender: Sender
  /** Empty for nobody. */
  readonly userId: string
}

/**
 * Finds out who sends a request: by its signature, or in web mode by the token that the client got at its sign-in.
 *
 * Threat model: a signature of the original's scheme covers method, path, date, host and content type, but no body. Whoever sees a request
 * before it is here could send it with another body. So it is accepted only where nobody sees it (TLS, or this computer), and only once: it
 * is written into the database before anything else happens, so of several managers none accepts it again, and forgotten when its date is
 * too old for any clock. A signature that came over an open connection counts as used, too, and its request is refused.
 *
 * @throws AppError `signature_invalid`, `clock_skewed`, `signature_replayed`, `keypair_inactive`, `user_inactive`, `rate_limited`,
 *   `not_signed_in`, `forbidden`
 */
export async function readSender({ signers, logins }: Doors, request: IncomingMessage): Promise<KnownSender> {
  if (request.url?.startsWith(`${WEB_PREFIX}/`)) {
    requireProtected(request)
    const token = webToken(request)
    const login = token === undefined ? undefined : await logins.authenticate(token)
    if (token === undefined || !login) throw new AppError('not_signed_in', because('sign_in_ended'))
    return { sender: { kind: 'token', token }, userId: login.caller.userId }
  }
  const { caller } = await signers.authenticate(readOriginalClaim(request))
  requireProtected(request)
  return { sender: { kind: 'keypair', accessKey: caller.keypair }, userId: caller.userId }
}

/** The token of a sign-in in web mode: in the cookie of the original, or in the header of its desktop app. */
export function webToken({ headers }: IncomingMessage): string | undefined {
  const cookies = (headers.cookie ?? '').split(';').map(pair => pair.trim().split('='))
  const sent = [
    headers['x-backendai-sessionid'],
    ...cookies.filter(([name]) => name === WEB_COOKIE).map(([, value]) => value),
  ]
  return sent.find(text => typeof text === 'string' && isToken(text)) as string | undefined
}

/** @throws AppError `forbidden` unless the request came over TLS, or from this computer without a forwarder */
export function requireProtected(request: IncomingMessage): void {
  const { https, address, isForwarded } = originOf(request)
  if (https || (isLoopback(address) && !isForwarded)) return
  // The address of a request that a known proxy forwards is that of its client.
  const isUnknownProxy = isForwarded && isLoopback(address)
  throw new AppError('forbidden', isUnknownProxy ? because('compat_needs_known_proxy') : because('compat_needs_tls'))
}
