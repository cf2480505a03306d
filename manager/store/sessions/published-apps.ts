import { sql } from 'kysely'
import { type LinkEnd, LIVE_STATUSES, type PublishedAppId, type SessionId, type UserId } from '#manager/contract'
import { ACCOUNT_HOLDS } from '../identity/users.ts'
import { type Db } from '../schema.ts'

export interface PublishedRow {
  readonly id: PublishedAppId
  readonly name: string
  readonly port: number | null
  readonly session_id: SessionId
  readonly app: string
  readonly user_id: UserId
  readonly password_hash: string | null
  readonly addresses: readonly string[]
  readonly created_at: Date
  readonly expires_at: Date
  readonly visits: number
  readonly last_visit_at: Date | null
  readonly session_name: string
  readonly owner_email: string
  readonly domain: string
}

/** Open links: not expired, of a live session, with an active account. */
function selectOpen(db: Db) {
  return db
    .selectFrom('published_apps as p')
    .innerJoin('sessions as s', 's.id', 'p.session_id')
    .innerJoin('users', 'users.id', 'p.user_id')
    .selectAll('p')
    .select(['s.name as session_name', 's.domain', 'users.email as owner_email'])
    .where('p.expires_at', '>', sql<Date>`now()`)
    .where('s.status', 'in', LIVE_STATUSES)
    .where(ACCOUNT_HOLDS)
}

export interface PublishedFilter {
  readonly sessionId?: SessionId | undefined
  /** Links of `ownerId` and, if `domain` is set, all links of sessions in it; undefined for all. */
  readonly visible?: { readonly ownerId: UserId; readonly domain?: string } | undefined
}

const MOST_LISTED = 500

/** Newest first. */
export function listPublished(db: Db, { sessionId, visible }: PublishedFilter): Promise<PublishedRow[]> {
  let query = selectOpen(db)
  if (sessionId) query = query.where('p.session_id', '=', sessionId)
  if (visible) {
    const { ownerId, domain } = visible
    query = query.where(eb =>
      eb.or([eb('p.user_id', '=', ownerId), ...(domain === undefined ? [] : [eb('s.domain', '=', domain)])]),
    )
  }
  return query.orderBy('p.id', 'desc').limit(MOST_LISTED).execute()
}

export function findPublished(db: Db, id: PublishedAppId): Promise<PublishedRow | undefined> {
  return selectOpen(db).where('p.id', '=', id).executeTakeFirst()
}

/** @param place the name or the port */
export function findPublishedAt(db: Db, place: string): Promise<PublishedRow | undefined> {
  const query = selectOpen(db)
  return (
    /^\d+$/.test(place) ? query.where('p.port', '=', Number(place)) : query.where('p.name', '=', place)
  ).executeTakeFirst()
}

const MOST_ENDED = 50

/** Links at a place that are not open any more, latest first: those that were deleted, and those that ended without it. @param place the name or the port */
export async function listEndedAt(
  db: Db,
  place: string,
): Promise<{ id: PublishedAppId; name: string; why: LinkEnd }[]> {
  const isHere = (table: 'e' | 'p') =>
    /^\d+$/.test(place)
      ? sql<boolean>`${sql.ref(`${table}.port`)} = ${Number(place)}`
      : sql<boolean>`${sql.ref(`${table}.name`)} = ${place}`
  const { rows } = await sql<{ id: PublishedAppId; name: string; why: LinkEnd }>`
    select id, name, why from (
      select e.id, e.name, e.why, e.ended_at from ended_published_apps e where ${isHere('e')}
      union all
      select p.id, p.name, case when p.expires_at <= now() then 'expired'
          when s.status in (${sql.join(LIVE_STATUSES)}) then 'withdrawn' else 'app_ended' end, now()
        from published_apps p join sessions s on s.id = p.session_id
        where ${isHere('p')} and p.id not in (${selectOpen(db).clearSelect().select('p.id')})
    ) ended order by ended_at desc, id desc limit ${MOST_ENDED}`.execute(db)
  return rows
}

/** The given links that are still open. */
export async function listOpen(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set()
  const rows = await selectOpen(db)
    .where('p.id', 'in', ids as readonly PublishedAppId[])
    .execute()
  return new Set(rows.map(({ id }) => id))
}

export interface NewPublished {
  readonly id: PublishedAppId
  readonly name: string
  readonly port: number | null
  readonly sessionId: SessionId
  readonly app: string
  readonly userId: UserId
  readonly passwordHash: string | null
  readonly addresses: readonly string[]
  readonly lifetimeMs: number
}

export async function insertPublished(db: Db, row: NewPublished): Promise<void> {
  await db
    .insertInto('published_apps')
    .values({
      id: row.id,
      name: row.name,
      port: row.port,
      session_id: row.sessionId,
      app: row.app,
      user_id: row.userId,
      password_hash: row.passwordHash,
      addresses: JSON.stringify(row.addresses),
      expires_at: sql<Date>`now() + ${row.lifetimeMs} * interval '1 millisecond'`,
    })
    .execute()
}

/** Links that ended without being deleted still occupy their ports. */
export async function deleteEnded(db: Db): Promise<void> {
  const open = selectOpen(db).clearSelect().select('p.id')
  await db.deleteFrom('published_apps').where('id', 'not in', open).execute()
}

export async function countPublishedOf(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('published_apps')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return count
}

/** @returns the ids of the links that were deleted */
export async function deletePublished(
  db: Db,
  which: { readonly id: PublishedAppId } | { readonly sessionId: SessionId } | 'all',
): Promise<PublishedAppId[]> {
  let query = db.deleteFrom('published_apps').returning('id')
  if (which !== 'all')
    query = 'id' in which ? query.where('id', '=', which.id) : query.where('session_id', '=', which.sessionId)
  return (await query.execute()).map(({ id }) => id)
}

export async function countVisit(db: Db, id: PublishedAppId): Promise<void> {
  await db
    .updateTable('published_apps')
    .set({ visits: sql<number>`visits + 1`, last_visit_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute()
}
