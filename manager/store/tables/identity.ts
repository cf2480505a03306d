import {
  type GroupId,
  type ProjectLimitColumn,
  type ResourceSlots,
  type StoredGpuLimit,
  type UserId,
} from '#manager/contract'
import { type Default, type DefaultJson, type MaybeJson, type MaybeTime, type Time } from './columns.ts'

export interface DomainsTable {
  name: string
  description: Default<string>
  active: Default<boolean>
  /** Base units. Limit for all sessions of the domain together. A missing slot is unlimited. */
  limits: DefaultJson<ResourceSlots>
  gpu_limits: DefaultJson<readonly StoredGpuLimit[]>
  /** Names of registries whose images may be launched; null = all. */
  allowed_registries: DefaultJson<string[] | null>
  /** Names that its sessions may reach; an empty list: none; null: no limit. */
  allowed_names: MaybeJson<readonly string[]>
  /** Names that a session reaches whose launch chooses no network; null: as much as allowed. */
  default_names: MaybeJson<readonly string[]>
  created_at: Time
  version: Default<number>
}

/** Groups are shown to users as *Project*. The columns of `PROJECT_LIMITS` are limits; null = unlimited. */
export interface GroupsTable extends Record<ProjectLimitColumn, Default<number | null>> {
  id: GroupId
  domain: string
  name: string
  description: Default<string>
  active: Default<boolean>
  /** Limit for all sessions of the group together, as for domains. */
  limits: DefaultJson<ResourceSlots>
  gpu_limits: DefaultJson<readonly StoredGpuLimit[]>
  created_at: Time
  version: Default<number>
}

export interface GroupMembersTable {
  group_id: GroupId
  user_id: UserId
  added_at: Time
}

/** One-time tokens for signing up. */
export interface InvitationsTable {
  id: string
  token_hash: Buffer
  domain: string
  note: Default<string>
  created_by: UserId | null
  created_at: Time
  expires_at: Time
  used_at: MaybeTime
  used_by: UserId | null
}

/** Requests of strangers for an account. */
export interface SignUpRequestsTable {
  id: string
  email: string
  name: string
  note: string
  domain: string
  token_hash: Buffer | null
  waiting: boolean
  confirmed: boolean
  created_at: Time
  expires_at: Time
}

/** Tokens of one-time links sent by e-mail; deleted once used. */
export interface EmailTokensTable {
  token_hash: Buffer
  user_id: UserId
  purpose: 'verify' | 'reset'
  /**
   * Password of the sign-up that this link confirms. Confirming makes it the password of the account, so that a sign-up
   * by somebody else with the same address does not count.
   */
  password_hash: string | null
  /** Person who chooses the password that is set with the link. */
  password_from: Default<'person' | 'superadmin' | 'unknown'>
  /** Administrator who passes the link on; null if it was mailed. */
  in_hand_of: UserId | null
  created_at: Time
  expires_at: Time
}

/** Recovery codes: each replaces a lost second factor once. */
export interface RecoveryCodesTable {
  user_id: UserId
  code_hash: Buffer
  used_at: MaybeTime
}

/** Number of signed requests per minute, for the rate limit per 15 minutes. */
export interface KeypairRequestsTable {
  access_key: string
  minute: Time
  requests: number
}

/** Nonces of signed requests, kept while the date of the request is fresh, so that no request is accepted twice. */
export interface KeypairNoncesTable {
  access_key: string
  nonce: string
  expires_at: Time
}

/** Idempotency keys: requests that may be retried, by the key that the client chose. */
export interface IdempotencyKeysTable {
  user_id: UserId
  key: string
  /** Sealed: the hash of the request and, if `answered`, the answer. */
  sealed: string
  answered: Default<boolean>
  created: string[] | null
  claim: string
  claimed_at: Time
  expires_at: Time
}

/** Files with which the new sessions of a user begin. */
export interface DotfilesTable {
  user_id: UserId
  /** Path relative to the home. */
  path: string
  /** Octal digits. */
  mode: string
  /** Content, sealed with the context `dotfile:<user id>:<path>`. */
  sealed: string
  /** Size of the content in UTF-8. */
  bytes: number
  changed_at: Time
  /** Access key with which it was set last; null: the person was signed in without a keypair. */
  set_by_access_key: Default<string | null>
}

/** The announcement that a user has dismissed last. */
export interface DismissedAnnouncementsTable {
  user_id: UserId
  announcement: string
}

/** The last visit of a user to the console. */
export interface VisitsTable {
  user_id: UserId
  /** End of the previous visit; null on the first one. */
  since: Date | null
  /** When the user last looked at the console. */
  seen: Time
}

/** Scripts that run when sessions of a user start. */
export interface BootstrapScriptsTable {
  user_id: UserId
  /** Sealed with the context `bootstrap-script:<user id>`. */
  sealed: string
  changed_at: Time
  /** Access key with which it was set last; null: the person was signed in without a keypair. */
  set_by_access_key: Default<string | null>
}
