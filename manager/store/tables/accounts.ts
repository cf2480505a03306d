import { type Default, type MaybeTime, type Time } from './columns.ts'
import { type PasswordFrom, type Role, type SessionId, type TokenScope, type UserId } from '#manager/contract'

export interface UsersTable {
  id: UserId
  email: string
  name: string
  role: Role
  domain: Default<string>
  /** Argon2id, PHC string. */
  password_hash: string
  /** False: nobody knows a password of the account, because a sign-in at a provider created it. */
  password_set: Default<boolean>
  active: Default<boolean>
  resource_policy: Default<string>
  /** A note by administrators. */
  description: Default<string>
  /**
   * Origin of the password. `unknown`: the account is older than this column, or the password was set with a password or a link that an
   * admin of the domain received.
   */
  password_from: Default<PasswordFrom>
  /** Time since when somebody else may know the password; null if nobody may, or if it is as old as the account. */
  doubt_since: MaybeTime
  /**
   * When somebody else last got access: set a password, or received the link that set it. Null if that is as old as the account, or never
   * happened. While somebody else may know the password, `doubt_since` is constant and this is updated: each time may have given access to
   * another person.
   */
  handed_at: MaybeTime
  /** The next sign-in with the password has to set a new one. */
  must_change_password: Default<boolean>
  /** Set by default. Null only after a sign-up: that account cannot sign in until its e-mail link is used. */
  email_verified_at: MaybeTime
  /** TOTP secret, sealed with the context `totp:<user id>`. Sign-in asks for codes only once it is confirmed. */
  totp_sealed: string | null
  totp_confirmed_at: MaybeTime
  /** Time step of the last accepted code, so that no code is accepted twice. */
  totp_last_step: number | null
  /** The user's own SSH public key (one line). Sessions that start after it was set authorise it. */
  ssh_public_key: string | null
  ssh_key_changed_at: MaybeTime
  /** Access key with which it was set last; null: the person was signed in without a keypair. */
  ssh_key_set_by_access_key: Default<string | null>
  created_at: Time
  /** Incremented by every change; event hints carry it. */
  version: Default<number>
}

export interface LoginsTable {
  id: string
  user_id: UserId
  /** SHA-256 of the token; the token itself is never stored. */
  token_hash: Buffer
  kind: 'browser' | 'token'
  label: string | null
  address: string
  created_at: Time
  last_used_at: Time
  /** Moved forward by each use, never beyond `ends_at`. */
  expires_at: Time
  ends_at: Time
  /** Each use extends the sign-in to this many seconds from then. */
  idle_seconds: Default<number>
  /** Access key of a sign-in that was made with a keypair: it ends with the keypair. */
  keypair: Default<string | null>
  /** Scopes of an access token; null for a sign-in, which may do everything that its user may. */
  scopes: Default<TokenScope[] | null>
  /** Budget of an access token: waiting and running sessions at once, and the longest lifetime of a session. */
  most_sessions: Default<number | null>
  session_seconds: Default<number | null>
  /** GPU seconds that sessions of an access token may take over its life, and those of sessions that were deleted since. */
  gpu_seconds: Default<number | null>
  gpu_seconds_gone: Default<number>
  /** The only session and app that an access token reaches. */
  app_session: Default<SessionId | null>
  app_name: Default<string | null>
}

export interface SignInTicketsTable {
  ticket_hash: Buffer
  user_id: UserId
  created_at: Time
  expires_at: Time
}

/**
 * Back-off: counts of failed sign-ins, and of requests by strangers. Forms of `key`: `account:<e-mail>`, `signed-in:<user id>`,
 * `address:<network>`, `sign-up:<network>`, `mail-from:<network>` or `mail-to:<e-mail>`.
 */
export interface LoginFailuresTable {
  key: string
  failures: number
  last_failed_at: Time
  blocked_until: Time | null
}

export interface KeypairsTable {
  access_key: string
  /** Purpose in the words of its owner; empty: none. */
  name: Default<string>
  user_id: UserId
  /** Secret key, sealed with the context `keypair:<access key>`. */
  sealed_secret: string
  active: Default<boolean>
  /** Requests per 15 minutes. */
  rate_limit: number
  resource_policy: Default<string>
  created_at: Time
  /** When it was created, or activated last. */
  activated_at: Time
  last_used_at: MaybeTime
  /** Null: the owner, or an unknown person. */
  created_by: UserId | null
  /** Created by somebody else: its owner has not accepted it, and nobody has its secret. */
  waits: Default<boolean>
}
