import { sql } from 'kysely'
import { type LinkPurpose, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { accountHolds } from './users.ts'

export interface EmailToken {
  readonly user_id: UserId
  readonly password_hash: string | null
  /** Person who chose a password that is set with it. */
  readonly password_from: LinkedFrom
}

/** The person who chooses a password that is set with a link, and the one who had the link in hand. */
export interface LinkOrigin {
  readonly from: LinkedFrom
  /** Administrator who passes the link on; null: it is mailed to the person. The link works only as long as that administrator manages the account. */
  readonly inHandOf: UserId | null
}

/** `person`: the link reaches the person by mail; `superadmin`, `unknown`: a superadmin or an admin of the domain had it in hand. */
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
 * Whether a link still counts: one that was mailed does; one in somebody's hand does as long as that person administers the account, with
 * the role that the link was made with. Rights are read when they are used (ADR 60).
 */
const stillCounts = sql<boolean>`(password_from = 'person' or exists (
  select from users maker, users owner
  where maker.id = email_tokens.in_hand_of and owner.id = email_tokens.user_id and ${accountHolds('maker')}
    and (maker.role = 'superadmin' or (email_tokens.password_from = 'unknown' and maker.role = 'domain_admin'
      and maker.domain = owner.domain and owner.role <> 'superadmin'))))`

/** A link that is mailed to the person, who alone chooses the password. */
export const MAILED: LinkOrigin = { from: 'person', inHandOf: null }

/** The token, if it has not expired and nobody had it in hand who has lost the right to it. */
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
 * @returns false if the token was gone already, or counts no more: of two concurrent requests, one succeeds
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

/** Deletes the links of an account that an administrator has in hand; those that were mailed stay. */
export async function deleteLinksInHand(db: Db, userId: UserId): Promise<void> {
  await db.deleteFrom('email_tokens').where('user_id', '=', userId).where('password_from', '<>', 'person').execute()
}

/** Deletes the links of an account but those for another password that were mailed to its person. */
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
