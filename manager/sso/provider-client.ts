import * as oidc from 'openid-client'
import { type SignInProviderCheck, type SignInProviderSettings } from '#manager/contract'
import { guardedFetch, RefusedAddress } from '../outgoing/guarded-fetch.ts'
import { type Claims } from './person.ts'
import { providerFault } from './provider-faults.ts'

/** Tolerated difference of clocks. */
const CLOCK_TOLERANCE_SECONDS = 60
const TIMEOUT_SECONDS = 10
/** Larger answers are an error: discovery documents, keys, tokens and user information are small. */
const MAX_BYTES = 1024 * 1024
/** Time after which a discovery document is read again. Keys are cached by the library, which reads them again for a new key id. */
const KEPT_MS = 10 * 60_000
const MOST_KEPT = 100

export interface ProviderAccess extends Pick<SignInProviderSettings, 'name' | 'issuer' | 'clientId' | 'scopes'> {
  readonly id: string
  /** Changes with every change of the settings. */
  readonly version: number
  /** Null for a public client. */
  readonly clientSecret: string | null
}

/** Secrets of a sign-in at a provider, kept between its two requests. */
export interface Challenge {
  readonly nonce: string
  /** PKCE, RFC 7636. */
  readonly verifier: string
  readonly redirectUri: string
}

/**
 * Client of OpenID Connect providers: discovery, and the authorization code flow with PKCE, state and nonce.
 *
 * Threat model: the provider is trusted only to say who somebody is. The library checks issuer, audience, nonce, times and, although the
 * token comes over TLS, the signature of the ID token; `none` and symmetric keys are refused. Addresses other than https are refused unless
 * the issuer is on this computer. Redirects are not followed, link-local addresses (where clouds keep credentials of the machine) are not
 * called, and answers have limits of time and size. Tokens and secrets are neither logged nor stored.
 */
export interface ProviderClient {
  /** @throws AppError `sso_provider_unreachable`, `sso_provider_wrong` */
  begin(provider: ProviderAccess, redirectUri: string): Promise<{ url: string; state: string; challenge: Challenge }>
  /**
   * @param query of the callback
   * @returns the claims of the ID token and of the user information
   * @throws AppError as `begin`, `sso_denied`, `sso_expired`, `sso_token_invalid`, `sso_clock_off`
   */
  finish(
    provider: ProviderAccess,
    request: { challenge: Challenge; query: URLSearchParams },
  ): Promise<Claims & { iss: string; sub: string }>
  /** Reads the discovery document again. @throws as `begin` */
  check(provider: ProviderAccess): Promise<Extract<SignInProviderCheck, { kind: 'oidc' }>>
}

export function createProviderClient({ now }: { readonly now: () => number }): ProviderClient {
  const kept = new Map<string, { at: number; configuration: Promise<oidc.Configuration> }>()

  function configurationOf(provider: ProviderAccess): Promise<oidc.Configuration> {
    const { id, version, issuer, clientId, clientSecret } = provider
    // A provider that was deleted and created again has the same id, and begins with the same version.
    const key = JSON.stringify([id, version, issuer, clientId, clientSecret])
    const known = kept.get(key)
    if (known && now() - known.at < KEPT_MS) return known.configuration
    const configuration = discover(provider).then(({ configuration }) => configuration)
    kept.delete(key)
    kept.set(key, { at: now(), configuration })
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? key)
    configuration.catch(() => {
      if (kept.get(key)?.configuration === configuration) kept.delete(key)
    })
    return configuration
  }

  return {
    async begin(provider, redirectUri) {
      const configuration = await configurationOf(provider)
      const [state, nonce, verifier] = [oidc.randomState(), oidc.randomNonce(), oidc.randomPKCECodeVerifier()]
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: [...new Set(['openid', ...provider.scopes])].join(' '),
        response_type: 'code',
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, state, challenge: { nonce, verifier, redirectUri } }
    },

    async finish(provider, { challenge, query }) {
      const configuration = await configurationOf(provider)
      const address = new URL(challenge.redirectUri)
      address.search = query.toString()
      try {
        const tokens = await oidc.authorizationCodeGrant(configuration, address, {
          expectedState: query.get('state') ?? '',
          expectedNonce: challenge.nonce,
          pkceCodeVerifier: challenge.verifier,
          idTokenExpected: true,
        })
        const claims = tokens.claims()
        if (!claims) throw new Error('the library returned no claims although it expects an ID token')
        const { userinfo_endpoint } = configuration.serverMetadata()
        if (userinfo_endpoint === undefined) return claims
        const more = await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub)
        return { ...more, ...claims }
      } catch (error) {
        throw providerFault(error, provider.name, 'sign-in')
      }
    },

    async check(provider) {
      const { configuration, date } = await discover(provider)
      const { issuer, authorization_endpoint, token_endpoint, code_challenge_methods_supported } =
        configuration.serverMetadata()
      return {
        kind: 'oidc',
        issuer,
        authorizationEndpoint: authorization_endpoint ?? '',
        tokenEndpoint: token_endpoint ?? '',
        pkce: code_challenge_methods_supported?.includes('S256') ?? null,
        clockDifferenceSeconds: date === null ? null : Math.round((date - now()) / 1000),
      }
    },
  }
}

async function discover(provider: ProviderAccess): Promise<{ configuration: oidc.Configuration; date: number | null }> {
  const { issuer, clientId, clientSecret, name } = provider
  let date: number | null = null
  const call: oidc.CustomFetch = async (url, options) => {
    const reply = await limitedFetch(url, options)
    const stated = Date.parse(reply.headers.get('date') ?? '')
    date ??= Number.isNaN(stated) ? null : stated
    return reply
  }
  const isLocal = new URL(issuer).protocol === 'http:'
  // oxlint-disable-next-line typescript/no-deprecated -- the library marks it so that it stands out; the issuer is on this computer
  const allowHttp: (configuration: oidc.Configuration) => void = oidc.allowInsecureRequests
  const changes = isLocal ? [allowHttp] : []
  try {
    const found = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), {
      [oidc.customFetch]: call,
      timeout: TIMEOUT_SECONDS,
      execute: changes,
    })
    const server = found.serverMetadata()
    if (server.authorization_endpoint === undefined || server.token_endpoint === undefined) {
      throw new oidc.ClientError('the discovery document names no authorization or token endpoint')
    }
    const metadata = { [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS }
    const configuration = new oidc.Configuration(server, clientId, metadata, authenticationOf(server, clientSecret))
    configuration[oidc.customFetch] = call
    configuration.timeout = TIMEOUT_SECONDS
    for (const change of changes) change(configuration)
    oidc.enableNonRepudiationChecks(configuration)
    return { configuration, date }
  } catch (error) {
    throw providerFault(error, name, 'discovery')
  }
}

/** If the provider lists no methods, it accepts HTTP Basic (OpenID Connect Discovery 1.0, section 3). */
function authenticationOf(server: oidc.ServerMetadata, clientSecret: string | null): oidc.ClientAuth {
  if (clientSecret === null) return oidc.None()
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  return methods.includes('client_secret_post')
    ? oidc.ClientSecretPost(clientSecret)
    : oidc.ClientSecretBasic(clientSecret)
}

const limitedFetch: oidc.CustomFetch = async (url, options) => {
  const reply = await guardedFetch(url, options as RequestInit).catch((error: unknown) => {
    throw error instanceof RefusedAddress ? new oidc.ClientError(error.message, { cause: error }) : error
  })
  let bytes = 0
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      if (bytes > MAX_BYTES) controller.error(new Error('the answer of the provider is too large'))
      else controller.enqueue(chunk)
    },
  })
  return new Response(reply.body?.pipeThrough(limit) ?? null, { status: reply.status, headers: reply.headers })
}
