import { type RawBuilder, type Selectable, sql } from 'kysely'
import { LIVE_STATUSES, type TokenApp, type TokenScope, type UserId } from '#manager/contract'
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
  /** GPU seconds that its sessions may take over its life. */
  readonly gpuSeconds: number | null
  /** The only app that it reaches. */
  readonly app: TokenApp | undefined
}

/** An access token with its waiting and running sessions, the GPU seconds of all its sessions, and the name of the session that it reaches. */
export type AccessTokenRow = Selectable<LoginsTable> & {
  readonly sessions: number
  readonly gpu_seconds_taken: number
  readonly app_session_name: string | null
}

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
      gpu_seconds: token.gpuSeconds,
      app_session: token.app?.sessionId ?? null,
      app_name: token.app?.app ?? null,
    })
    .execute()
}

/** Whether an access token is valid now. @param id of the token */
export const tokenHolds = (id: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`exists (
  select from logins token where token.id = ${id} and token.scopes is not null and least(token.expires_at, token.ends_at) > now())`

const isLive = sql<boolean>`sessions.status = any(${[...LIVE_STATUSES]}::text[])`

/** GPU seconds that the sessions of a token took, and that the live ones may still take. @param id, gone columns of the token */
const gpuSecondsTaken = (id: RawBuilder<unknown>, gone: RawBuilder<unknown>) => sql<number>`(${gone}
  + coalesce((select sum(session_gpu_seconds(s.id)) from sessions s where s.token_id = ${id}), 0))`

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
    .select(gpuSecondsTaken(sql`logins.id`, sql`logins.gpu_seconds_gone`).as('gpu_seconds_taken'))
    .select(sql<string | null>`(select name from sessions s where s.id = logins.app_session)`.as('app_session_name'))
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

/** Bounds of the sessions of an access token, and their use: what they may take (null: no limit), and what they take. */
export interface TokenUse {
  /** Waiting and running sessions at once. */
  readonly mostSessions: number | null
  readonly liveSessions: number
  /** GPU seconds over the life of the token; those of live sessions until their ends. */
  readonly gpuSeconds: number | null
  readonly gpuSecondsTaken: number
}

export async function readTokenUse(db: Db, id: string): Promise<TokenUse> {
  const { rows } = await sql<TokenUse>`
    select token.most_sessions as "mostSessions", token.gpu_seconds as "gpuSeconds",
      (select count(*)::int from sessions where sessions.token_id = token.id and ${isLive}) as "liveSessions",
      case when token.gpu_seconds is null then 0
        else ${gpuSecondsTaken(sql`token.id`, sql`token.gpu_seconds_gone`)} end as "gpuSecondsTaken"
    from logins token where token.id = ${id}::uuid`.execute(db)
  return rows[0] ?? { mostSessions: null, liveSessions: 0, gpuSeconds: null, gpuSecondsTaken: 0 }
}

/** The only app that an access token reaches; undefined: it names none. */
export async function readAppOfToken(db: Db, id: string): Promise<TokenApp | undefined> {
  const row = await db.selectFrom('logins').select(['app_session', 'app_name']).where('id', '=', id).executeTakeFirst()
  if (!row || row.app_session === null || row.app_name === null) return undefined
  return { sessionId: row.app_session, app: row.app_name }
}
