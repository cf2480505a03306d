import { sql } from 'kysely'
import { type LinkPurpose, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { accountHolds } from './users.ts'

export interface EmailToken {
  readonly user_id: UserId
  readonly password_hash: string | null
  /** Person who chooses the password that is set with the token. */
  readonly password_from: LinkedFrom
}

/** The person who chooses a password that is set with a link, and the person who received the link. */
export interface LinkOrigin {
  readonly from: LinkedFrom
  /**
   * Administrator who passes the link on; null: it is mailed to the person. The link works only while that administrator manages the
   * account.
   */
  readonly inHandOf: UserId | null
}

/** `person`: the link reaches the person by mail; `superadmin`, `unknown`: a superadmin or an admin of the domain received it. */
export type LinkedFrom = 'person' | 'superadmin' | 'unknown'

/** Limit of valid tokens per account and purpose: repeated requests must not fill the table. */
const AT_MOST = 10

/** @returns when the token expires; undefined if the account has too many already */
export async function insertEmailToken(
  db: Db,
  token: {
    readonly hash: Buffer
    readonly userId: UserId
    readonly purpose: LinkPurpose
    readonly passwordHash?: string
    readonly origin: LinkOrigin
    readonly lifetimeSeconds: number
  },
): Promise<Date | undefined> {
  const { rows } = await sql<{ expires_at: Date }>`
    insert into email_tokens (token_hash, user_id, purpose, password_hash, password_from, in_hand_of, expires_at)
    select ${token.hash}::bytea, ${token.userId}::uuid, ${token.purpose}, ${token.passwordHash ?? null},
      ${token.origin.from}, ${token.origin.inHandOf}::uuid,
      now() + make_interval(secs => ${token.lifetimeSeconds})
    where (
      select count(*) from email_tokens
      where user_id = ${token.userId}::uuid and purpose = ${token.purpose} and expires_at > now()
    ) < ${AT_MOST}
    returning expires_at`.execute(db)
  return rows[0]?.expires_at
}

/**
 * Whether a link is still valid. A mailed link is; a link that an administrator received is valid while that person administers the
 * account, with the role that they had when the link was made. Rights are read when they are used (ADR 60).
 */
const stillCounts = sql<boolean>`(password_from = 'person' or exists (
  select from users maker, users owner
  where maker.id = email_tokens.in_hand_of and owner.id = email_tokens.user_id and ${accountHolds('maker')}
    and (maker.role = 'superadmin' or (email_tokens.password_from = 'unknown' and maker.role = 'domain_admin'
      and maker.domain = owner.domain and owner.role <> 'superadmin'))))`

/** A link that is mailed to the person, who alone chooses the password. */
export const MAILED: LinkOrigin = { from: 'person', inHandOf: null }

/** The token, unless it has expired, or was received by an administrator who has lost the right to it. */
export function findEmailToken(db: Db, hash: Buffer, purpose: LinkPurpose): Promise<EmailToken | undefined> {
  return db
    .selectFrom('email_tokens')
    .select(['user_id', 'password_hash', 'password_from'])
    .where('token_hash', '=', hash)
    .where('purpose', '=', purpose)
    .where(sql<boolean>`expires_at > now()`)
    .where(stillCounts)
    .executeTakeFirst()
}

/**
 * Consumes the token and deletes all others of the account.
 *
 * @returns false if the token was used or is invalid: of two concurrent requests, one succeeds
 */
export async function takeEmailToken(trx: Db, hash: Buffer, userId: UserId): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom('email_tokens')
    .where('token_hash', '=', hash)
    .where(stillCounts)
    .executeTakeFirst()
  await deleteEmailTokens(trx, userId)
  return numDeletedRows === 1n
}

/** Deletes the links of an account that an administrator received; mailed links stay. */
export async function deleteLinksInHand(db: Db, userId: UserId): Promise<void> {
  await db.deleteFrom('email_tokens').where('user_id', '=', userId).where('password_from', '<>', 'person').execute()
}

/** Deletes the links of an account, except mailed links for resetting its password. */
export async function deleteAllButMailedResets(db: Db, userId: UserId): Promise<void> {
  await db
    .deleteFrom('email_tokens')
    .where('user_id', '=', userId)
    .where(eb => eb.or([eb('password_from', '<>', 'person'), eb('purpose', '<>', 'reset')]))
    .execute()
}

export async function deleteEmailTokens(db: Db, userId: UserId): Promise<void> {
  await db.deleteFrom('email_tokens').where('user_id', '=', userId).execute()
}
