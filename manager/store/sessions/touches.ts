import { type RawBuilder, sql } from 'kysely'
import { defined } from '#base/defined'
import { type Reason, type SessionChange, type SessionId, type SessionStatus, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type SessionRow } from './sessions.ts'

/** A session whose view has changed, with what its event needs. */
export interface Touched {
  readonly id: SessionId
  readonly ownerId: UserId
  readonly domain: string
  readonly version: number
}

const TOUCHED = ['id', 'owner_id', 'domain', 'version'] as const
const toTouched = (row: Pick<SessionRow, (typeof TOUCHED)[number]>): Touched => ({
  id: row.id,
  ownerId: row.owner_id,
  domain: row.domain,
  version: row.version,
})

/**
 * Locks rows of `sessions` that one statement writes in the order of their ids, as placements do. Two statements that lock the same rows in
 * different orders would deadlock.
 *
 * @returns a CTE named `locked`, to be joined by id. the statement must repeat the condition `where`, because rows may have changed while
 *   it waited for their locks
 */
export function lockedSessions(ids: readonly SessionId[], where: RawBuilder<unknown> = sql`true`): RawBuilder<unknown> {
  return sql`locked as materialized (
      select id from sessions where id = any(${ids}::uuid[]) and ${where} order by id for update
    )`
}

/** Increments the version without a transition, because another part of the view has changed. */
export async function touchSessions(db: Db, ids: readonly SessionId[]): Promise<Touched[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<Pick<SessionRow, (typeof TOUCHED)[number]>>`
    with ${lockedSessions(ids)}
    update sessions s set version = s.version + 1 from locked where s.id = locked.id
    returning s.id, s.owner_id, s.domain, s.version`.execute(db)
  return rows.map(toTouched)
}

/** Changes the priority of a pending session. @returns an empty list if nothing changed */
export async function updatePriority(db: Db, id: SessionId, priority: number): Promise<Touched[]> {
  const rows = await db
    .updateTable('sessions')
    .set({ priority, version: sql`version + 1` })
    .where('id', '=', id)
    .where('status', '=', 'PENDING')
    .where('priority', '<>', priority)
    .returning(TOUCHED)
    .execute()
  return rows.map(toTouched)
}

/** Changes tags, note and leave for administrators; a key that is left out keeps its value. */
export async function updateLabels(
  db: Db,
  id: SessionId,
  { tags, note, adminsMayRead }: SessionChange,
): Promise<Touched[]> {
  const rows = await db
    .updateTable('sessions')
    .set({
      ...(tags === undefined ? {} : { tags: JSON.stringify(tags) }),
      ...defined({ note, admins_may_read: adminsMayRead }),
      version: sql`version + 1`,
    })
    .where('id', '=', id)
    .returning(TOUCHED)
    .execute()
  return rows.map(toTouched)
}

/** Sets new reasons without a transition, for sessions that still have this status. */
export async function updateReasons(
  db: Db,
  status: SessionStatus,
  reasons: ReadonlyMap<SessionId, Reason>,
): Promise<Touched[]> {
  if (reasons.size === 0) return []
  const texts = [...reasons.values()].map(reason => JSON.stringify(reason))
  // Locks as in `lockedSessions`, but with the reasons joined in the same CTE: there may be ten thousand sessions.
  const { rows } = await sql<Pick<SessionRow, (typeof TOUCHED)[number]>>`
    with locked as materialized (
      select o.id, v.reason::jsonb as reason
      from unnest(${[...reasons.keys()]}::uuid[], ${texts}::text[]) as v (id, reason) join sessions o on o.id = v.id
      where o.status = ${status} order by o.id for update of o
    )
    update sessions s set reason = locked.reason, version = s.version + 1
    from locked where s.id = locked.id and s.status = ${status}
    returning s.id, s.owner_id, s.domain, s.version`.execute(db)
  return rows.map(toTouched)
}
