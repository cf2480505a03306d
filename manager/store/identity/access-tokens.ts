import { type RawBuilder, type Selectable, sql } from 'kysely'
import { LIVE_STATUSES, type TokenScope, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type LoginsTable } from '../tables/accounts.ts'

export interface NewAccessToken {
  readonly id: string
  readonly userId: UserId
  readonly tokenHash: Buffer
  readonly name: string
  readonly scopes: readonly TokenScope[]
  /** Network address from which the token is made. */
  readonly address: string
  readonly days: number
  /** Maximum number of waiting and running sessions at a time. */
  readonly mostSessions: number | null
  /** Longest lifetime of a session. */
  readonly sessionSeconds: number | null
}

/** An access token with the number of its waiting and running sessions. */
export type AccessTokenRow = Selectable<LoginsTable> & { readonly sessions: number }

/** A use does not extend the life of an access token, so its idle time is its whole life. */
export async function insertAccessToken(db: Db, token: NewAccessToken): Promise<void> {
  const end = sql<Date>`now() + make_interval(days => ${token.days})`
  await db
    .insertInto('logins')
    .values({
      id: token.id,
      user_id: token.userId,
      token_hash: token.tokenHash,
      kind: 'token',
      label: token.name,
      scopes: [...token.scopes],
      address: token.address,
      expires_at: end,
      ends_at: end,
      idle_seconds: token.days * 86_400,
      most_sessions: token.mostSessions,
      session_seconds: token.sessionSeconds,
    })
    .execute()
}

/** Whether an access token is valid now. @param id of the token */
export const tokenHolds = (id: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from logins token where token.id = ${id} and token.scopes is not null and least(token.expires_at, token.ends_at) > now())`

const isLive = sql<boolean>`sessions.status = any(${[...LIVE_STATUSES]}::text[])`

/** Valid access tokens of a user, the newest first. */
export function listAccessTokens(db: Db, userId: UserId, id?: string): Promise<AccessTokenRow[]> {
  let query = db
    .selectFrom('logins')
    .selectAll()
    .select(eb =>
      eb
        .selectFrom('sessions')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('sessions.token_id', '=', 'logins.id')
        .where(isLive)
        .$asScalar()
        .$notNull()
        .as('sessions'),
    )
    .where('user_id', '=', userId)
    .where('scopes', 'is not', null)
    .where(sql<boolean>`least(expires_at, ends_at) > now()`)
    .orderBy('created_at', 'desc')
    .orderBy('id')
  if (id !== undefined) query = query.where('id', '=', id)
  return query.execute()
}

/** Deletes an access token. @returns the ids of what was deleted */
export async function deleteAccessToken(db: Db, userId: UserId, id: string): Promise<string[]> {
  const rows = await db
    .deleteFrom('logins')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .where('scopes', 'is not', null)
    .returning('id')
    .execute()
  return rows.map(row => row.id)
}

/** Most sessions of an access token at once (null: any number), and its waiting and running ones now. */
export async function readTokenUse(
  db: Db,
  id: string,
): Promise<{ readonly most: number | null; readonly live: number }> {
  const { count } = await db
    .selectFrom('sessions')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('token_id', '=', id)
    .where(isLive)
    .executeTakeFirstOrThrow()
  const token = await db.selectFrom('logins').select('most_sessions').where('id', '=', id).executeTakeFirst()
  return { most: token?.most_sessions ?? null, live: count }
}
