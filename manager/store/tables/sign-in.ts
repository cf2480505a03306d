import { type GroupId, type Role, type UserId } from '#manager/contract'
import { type Default, type DefaultJson, type Json, type Time } from './columns.ts'

/** Providers of OpenID Connect, and directories. */
export interface SignInProvidersTable {
  id: string
  settings: Json<unknown>
  /** Client secret, or password of a directory's account, sealed with the context `sign-in-provider:<id>`; null where there is none. */
  sealed_secret: string | null
  created_at: Time
  version: Default<number>
  /** Incremented when the rights that the mapping can give change. */
  mapping_version: Default<number>
}

/** Accounts at providers that sign in to an account here. Issuer and subject never change. */
export interface SignInIdentitiesTable {
  issuer: string
  subject: string
  user_id: UserId
  email: string
  /** Provider whose mapping gave groups and role; the provider may have been deleted since. */
  given_by: Default<string | null>
  /** `mapping_version` of that provider when this account's rights were last checked against the mapping. */
  given_version: Default<number | null>
  /** Project memberships that the mapping may remove. A membership that an administrator confirms by hand is removed from this list. */
  given_groups: DefaultJson<readonly GroupId[]>
  /** Role that the mapping gave, and the role that the account has without any mapping. */
  given_role: Role | null
  role_before: Role | null
  /** Linked with a password that somebody else may have known; so the account at the provider may belong to that person. */
  doubtful: Default<boolean>
  /** The account was made for this linked one, or linked by its address. */
  owns: Default<boolean>
  /** When the directory was first found not to have the person any more; null while it has. */
  gone_at: Default<Date | null>
  /** The account was deactivated because the person was gone. */
  deactivated: Default<boolean>
  created_at: Time
  last_used_at: Time
}

/** Sign-ins at a provider that are in progress. */
export interface SignInAttemptsTable {
  state_hash: Buffer
  secret_hash: Buffer
  /** Hash of the code with which the client finishes; null until the browser has come back. */
  code_hash: Buffer | null
  provider: string
  /** Data for the next step, sealed with the context `sign-in-attempt:<state hash, base64url>`. */
  sealed: string
  /** The widest network that the client's address belongs to. */
  network: Default<string>
  created_at: Time
  expires_at: Time
}
