import { type GroupId, type ResourceSlots, type UserId } from '#manager/contract'
import { type Default, type DefaultJson, type MaybeTime, type Time } from './columns.ts'

export interface DomainsTable {
  name: string
  description: Default<string>
  active: Default<boolean>
  /** Base units; what all of its sessions together may hold. A slot that is left out is unlimited. */
  limits: DefaultJson<ResourceSlots>
  /** Names of registries whose images may be launched; null = all. */
  allowed_registries: DefaultJson<string[] | null>
  created_at: Time
  version: Default<number>
}

/** Shown as *Project*. */
export interface GroupsTable {
  id: GroupId
  domain: string
  name: string
  description: Default<string>
  active: Default<boolean>
  /** As for domains. */
  limits: DefaultJson<ResourceSlots>
  created_at: Time
  version: Default<number>
}

export interface GroupMembersTable {
  group_id: GroupId
  user_id: UserId
  added_at: Time
}

/** One-time tokens with which somebody may sign up. */
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

/** One-time links by e-mail; gone once used. */
export interface EmailTokensTable {
  token_hash: Buffer
  user_id: UserId
  purpose: 'verify' | 'reset'
  /** Of the sign-up that this link confirms: it becomes the account's, so that nobody else's sign-up counts. */
  password_hash: string | null
  created_at: Time
  expires_at: Time
}

/** What signs in once each where the second factor is lost. */
export interface RecoveryCodesTable {
  user_id: UserId
  code_hash: Buffer
  used_at: MaybeTime
}

/** Signed requests per minute, for the limit per 15 minutes. */
export interface KeypairRequestsTable {
  access_key: string
  minute: Time
  requests: number
}

/** Nonces of signed requests, kept while their date is fresh: none is taken twice. */
export interface KeypairNoncesTable {
  access_key: string
  nonce: string
  expires_at: Time
}

/** Requests that may be sent again, by the key that their sender chose. */
export interface IdempotencyKeysTable {
  user_id: UserId
  key: string
  /** The hash of the request and, where `answered`, the answer. */
  sealed: string
  answered: Default<boolean>
  created: string[] | null
  claim: string
  claimed_at: Time
  expires_at: Time
}
