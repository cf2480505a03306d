import { z } from 'zod'
import { defined } from '#base/defined'
import { parseJson } from '#base/parse-json'
import { AppError, because } from '#manager/contract'
import { isLoopback } from '../registry-address.ts'
import { type Challenge } from './headers.ts'
import { limitedFetch } from './limited-fetch.ts'

export interface Credentials {
  readonly username: string
  readonly password: string
}

const Token = z.object({
  token: z.string().optional(),
  access_token: z.string().optional(),
  expires_in: z.number().optional(),
})
const MAX_TOKEN_BYTES = 64 * 2 ** 10
const DEFAULT_LIFETIME_S = 60
/** A token is not used during this last part of its lifetime. */
const MARGIN_MS = 5_000

/** Signs requests to a registry. The answer to a challenge is cached for the next requests. */
export interface Authorization {
  /** Cached header for a request of this scope; undefined if there is none. */
  header(scope: string): string | undefined
  /** Answers a 401. @returns undefined if no challenge can be answered @throws AppError `registry_refused`, … */
  answer(challenges: readonly Challenge[], scope: string, signal: AbortSignal): Promise<string | undefined>
}

/**
 * Authorization by Basic, or by a token from the server that the registry names.
 *
 * Threat model: the password goes to the registry, or to the token server that the registry names. Over TLS the name really comes from the
 * registry, which could have passed the password on itself. Over plain http somebody on the network could name another server, so only the
 * registry's own host is accepted. Tokens are valid for one repository (or the catalogue), for minutes, and only at this registry.
 *
 * @see https://distribution.github.io/distribution/spec/auth/token/
 */
export function createAuthorization(registry: URL, credentials: Credentials | undefined): Authorization {
  const tokens = new Map<string, { header: string; until: number }>()
  const basic = credentials
    ? `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`
    : undefined
  let useBasic = false

  async function fetchToken({ parameters }: Challenge, scope: string, signal: AbortSignal): Promise<string> {
    const { realm = '', service } = parameters
    const url = URL.canParse(realm) ? new URL(realm) : undefined
    const sameHost =
      url?.hostname === registry.hostname || (isLoopback(url?.hostname ?? '') && isLoopback(registry.hostname))
    if (
      !url ||
      !(url.protocol === 'https:' || (url.protocol === 'http:' && registry.protocol === 'http:' && sameHost))
    ) {
      throw new AppError('registry_refused', because('token_server_strange'))
    }
    if (service !== undefined) url.searchParams.set('service', service)
    if (scope !== '') url.searchParams.set('scope', scope)
    const headers = defined({ authorization: basic })
    const reply = await limitedFetch(url, { headers, maxBytes: MAX_TOKEN_BYTES, signal })
    if (reply.status === 401 || reply.status === 403) throw refusal(credentials)
    const parsed = Token.safeParse(reply.status === 200 ? parseJson(reply.body.toString('utf8')) : undefined)
    const token = parsed.data?.token ?? parsed.data?.access_token
    if (token === undefined || /[^\x21-\x7e]/.test(token)) {
      throw new AppError('registry_failed', because('token_server_no_token', { status: reply.status }))
    }
    const header = `Bearer ${token}`
    const lifetimeMs = (parsed.data?.expires_in ?? DEFAULT_LIFETIME_S) * 1000
    tokens.set(scope, { header, until: performance.now() + lifetimeMs - MARGIN_MS })
    return header
  }

  return {
    header(scope) {
      if (useBasic) return basic
      const known = tokens.get(scope)
      return known && known.until > performance.now() ? known.header : undefined
    },
    async answer(challenges, scope, signal) {
      const bearer = challenges.find(challenge => challenge.scheme === 'bearer')
      if (bearer) return await fetchToken(bearer, scope, signal)
      if (!challenges.some(challenge => challenge.scheme === 'basic')) return undefined
      if (basic === undefined) throw refusal(credentials)
      useBasic = true
      return basic
    },
  }
}

export function refusal(credentials: Credentials | undefined): AppError {
  return new AppError(
    'registry_refused',
    credentials
      ? because('registry_password_refused', { user: credentials.username })
      : because('registry_password_needed'),
  )
}
