import { sql } from 'kysely'
import { type LinkPurpose, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface EmailToken {
  readonly user_id: UserId
  readonly password_hash: string | null
  /** Person who chose a password that is set with it. */
  readonly password_from: LinkedFrom
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
    readonly passwordFrom: LinkedFrom
    readonly lifetimeSeconds: number
  },
): Promise<Date | undefined> {
  const { rows } = await sql<{ expires_at: Date }>`
    insert into email_tokens (token_hash, user_id, purpose, password_hash, password_from, expires_at)
    select ${token.hash}::bytea, ${token.userId}::uuid, ${token.purpose}, ${token.passwordHash ?? null},
      ${token.passwordFrom},
      now() + make_interval(secs => ${token.lifetimeSeconds})
    where (
      select count(*) from email_tokens
      where user_id = ${token.userId}::uuid and purpose = ${token.purpose} and expires_at > now()
    ) < ${AT_MOST}
    returning expires_at`.execute(db)
  return rows[0]?.expires_at
}

/** The token, if it has not expired. */
export function findEmailToken(db: Db, hash: Buffer, purpose: LinkPurpose): Promise<EmailToken | undefined> {
  return db
    .selectFrom('email_tokens')
    .select(['user_id', 'password_hash', 'password_from'])
    .where('token_hash', '=', hash)
    .where('purpose', '=', purpose)
    .where(sql<boolean>`expires_at > now()`)
    .executeTakeFirst()
}

/**
 * Consumes the token and deletes all others of the account.
 *
 * @returns false if the token was gone already: of two concurrent requests, one succeeds
 */
export async function takeEmailToken(trx: Db, hash: Buffer, userId: UserId): Promise<boolean> {
  const { numDeletedRows } = await trx.deleteFrom('email_tokens').where('token_hash', '=', hash).executeTakeFirst()
  await deleteEmailTokens(trx, userId)
  return numDeletedRows === 1n
}

export async function deleteEmailTokens(db: Db, userId: UserId): Promise<void> {
  await db.deleteFrom('email_tokens').where('user_id', '=', userId).execute()
}
