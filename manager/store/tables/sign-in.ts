import { type GroupId, type Role, type UserId } from '#manager/contract'
import { type Default, type DefaultJson, type Json, type Time } from './columns.ts'

/** Providers of OpenID Connect. */
export interface SignInProvidersTable {
  id: string
  settings: Json<unknown>
  /** Client secret, sealed at `sign-in-provider:<id>`; null for a public client. */
  sealed_secret: string | null
  created_at: Time
  version: Default<number>
  /** Counts the changes of what the mapping may give. */
  mapping_version: Default<number>
}

/** Accounts at providers that sign in to an account here. Issuer and subject never change. */
export interface SignInIdentitiesTable {
  issuer: string
  subject: string
  user_id: UserId
  email: string
  /** Provider whose mapping gave groups and role, which may have been removed since. */
  given_by: Default<string | null>
  /** `mapping_version` of that provider when it was judged last what the mapping gives by this account. */
  given_version: Default<number | null>
  /**
   * Project memberships that the mapping may take back. A membership that an administrator confirms by hand is removed from this
   * list.
   */
  given_groups: DefaultJson<readonly GroupId[]>
  /** Role that the mapping gave, and the role that the account has without any mapping. */
  given_role: Role | null
  role_before: Role | null
  /** Linked with a password that somebody else may have known, and so perhaps an account of that somebody. */
  doubtful: Default<boolean>
  created_at: Time
  last_used_at: Time
}

/** Sign-ins at a provider that have begun. */
export interface SignInAttemptsTable {
  state_hash: Buffer
  secret_hash: Buffer
  /** Hash of the code with which the client finishes; null until the browser has come back. */
  code_hash: Buffer | null
  provider: string
  /** Sealed at `sign-in-attempt:<state hash, base64url>`: what the next step needs. */
  sealed: string
  /** Network of the client that began, the widest that its address belongs to. */
  network: Default<string>
  created_at: Time
  expires_at: Time
}
