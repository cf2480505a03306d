import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { AppError, because } from '#manager/contract'

/** RFC 6749 section 4.1.2.1 and OpenID Connect Core section 3.1.2.6. */
const REFUSALS: ReadonlySet<string> = new Set([
  'access_denied',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'login_required',
])
const TEMPORARY: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable'])
/** Codes of the library for an invalid ID token or response. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
])

/**
 * Turns a failure at a provider into one of ours; the failure itself is the cause.
 *
 * @param provider name for people
 * @param phase the admin has to fix errors of the discovery; later failures concern one sign-in
 */
export function providerFault(error: unknown, provider: string, phase: 'discovery' | 'sign-in'): AppError {
  const options = { cause: error }
  const away = () => new AppError('sso_provider_unreachable', because('sso_provider_away', { provider }), options)
  const wrong = () => new AppError('sso_provider_wrong', because('sso_provider_wrong', { provider }), options)
  if (error instanceof AuthorizationResponseError) {
    if (TEMPORARY.has(error.error)) return away()
    return REFUSALS.has(error.error)
      ? new AppError('sso_denied', because('sso_denied', { provider }), options)
      : wrong()
  }
  if (error instanceof ResponseBodyError) {
    if (error.status >= 500) return away()
    return error.error === 'invalid_grant' ? new AppError('sso_expired', because('sso_start_again'), options) : wrong()
  }
  if (error instanceof WWWAuthenticateChallengeError) return wrong()
  if (!(error instanceof ClientError)) return away()
  const { code = '', cause } = error
  if (code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT') return away()
  if (cause instanceof Response && cause.status >= 500) return away()
  if (phase === 'discovery') return wrong()
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return new AppError('sso_clock_off', because('sso_clock'), options)
  return UNTRUSTED.has(code)
    ? new AppError('sso_token_invalid', because('sso_token_invalid', { provider }), options)
    : wrong()
}
