import { sql } from 'kysely'
import { type LinkPurpose, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'

export interface EmailToken {
  readonly user_id: UserId
  readonly password_hash: string | null
}

/** More than these are not kept for one account and purpose: whoever asks again and again fills no table. */
const AT_MOST = 10

/** @returns when it ends; undefined if there are too many already */
export async function insertEmailToken(
  db: Db,
  token: {
    readonly hash: Buffer
    readonly userId: UserId
    readonly purpose: LinkPurpose
    readonly passwordHash?: string
    readonly lifetimeSeconds: number
  },
): Promise<Date | undefined> {
  const { rows } = await sql<{ expires_at: Date }>`
    insert into email_tokens (token_hash, user_id, purpose, password_hash, expires_at)
    select ${token.hash}::bytea, ${token.userId}::uuid, ${token.purpose}, ${token.passwordHash ?? null},
      now() + make_interval(secs => ${token.lifetimeSeconds})
    where (
      select count(*) from email_tokens
      where user_id = ${token.userId}::uuid and purpose = ${token.purpose} and expires_at > now()
    ) < ${AT_MOST}
    returning expires_at`.execute(db)
  return rows[0]?.expires_at
}

/** One that is good now. */
export function findEmailToken(db: Db, hash: Buffer, purpose: LinkPurpose): Promise<EmailToken | undefined> {
  return db
    .selectFrom('email_tokens')
    .select(['user_id', 'password_hash'])
    .where('token_hash', '=', hash)
    .where('purpose', '=', purpose)
    .where(sql<boolean>`expires_at > now()`)
    .executeTakeFirst()
}

/** Ends this one and every other of the account. False if it was not there any more: of two at once, one goes on. */
export async function takeEmailToken(trx: Db, hash: Buffer, userId: UserId): Promise<boolean> {
  const { numDeletedRows } = await trx.deleteFrom('email_tokens').where('token_hash', '=', hash).executeTakeFirst()
  await deleteEmailTokens(trx, userId)
  return numDeletedRows === 1n
}

export async function deleteEmailTokens(db: Db, userId: UserId): Promise<void> {
  await db.deleteFrom('email_tokens').where('user_id', '=', userId).execute()
}
