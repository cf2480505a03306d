import { type SignInProviderSettings } from '#manager/contract'
import { cleanLine } from '#base/clean-text'
import { Email } from '#manager/contract'

/** A provider's statement about the person who signs in. */
export interface Person {
  readonly issuer: string
  readonly subject: string
  /** Lower case; null if the provider sends none. */
  readonly email: string | null
  readonly isEmailVerified: boolean
  readonly name: string | null
  readonly groups: readonly string[]
  /** True if the provider reports that it checked several factors (RFC 8176: `mfa`). */
  readonly multiFactor: boolean
}

export type Claims = Readonly<Record<string, unknown>>

const MOST_GROUPS = 2000

/** Reads the claims named in the settings. Claims come from another party: texts are cleaned, and other types are ignored. */
export function personOf(
  claims: Claims & { readonly iss: string; readonly sub: string },
  settings: Pick<SignInProviderSettings, 'emailClaim' | 'trustEmail' | 'groupsClaim'>,
): Person {
  const { emailClaim, trustEmail, groupsClaim } = settings
  const email = Email.safeParse(readClaim(claims, emailClaim))
  // `email_verified` is about the claim `email` only. Some providers send it as text.
  const said = emailClaim === 'email' && (claims.email_verified === true || claims.email_verified === 'true')
  const amr = claims.amr
  return {
    issuer: claims.iss,
    subject: claims.sub,
    email: email.success ? email.data.toLowerCase() : null,
    isEmailVerified: email.success && (said || trustEmail),
    name: nameOf(claims),
    groups: groupsClaim === null ? [] : textsOf(readClaim(claims, groupsClaim)),
    multiFactor: Array.isArray(amr) && amr.includes('mfa'),
  }
}

/** The claim of this name, or a nested field for a name with dots: `realm_access.roles`. */
export function readClaim(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const step of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Claims)[step]
  }
  return value
}

function nameOf(claims: Claims): string | null {
  for (const claim of [claims.name, claims.preferred_username]) {
    const name = typeof claim === 'string' ? cleanLine(claim, 64).trim() : ''
    if (name !== '') return name
  }
  return null
}

function textsOf(claim: unknown): string[] {
  const values: unknown[] = Array.isArray(claim) ? claim : [claim]
  return values.filter(value => typeof value === 'string').slice(0, MOST_GROUPS)
}
