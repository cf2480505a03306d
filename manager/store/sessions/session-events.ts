import { sql } from 'kysely'
import { type KernelId, type Reason, type SessionEvent, type SessionId, type SessionStatus } from '#manager/contract'
import { writeSessionEvents } from '../operation/webhook-events.ts'
import { type Db } from '../schema.ts'

export interface NewSessionEvent {
  readonly sessionId: SessionId
  readonly kernelId: KernelId | null
  readonly from: SessionStatus | null
  readonly to: SessionStatus
  readonly reason: Reason
  readonly actor: string | null
}

/**
 * Inserts rows of the timeline, and the events of webhooks. Call it in the transaction of the transitions that they record, after the
 * sessions were written.
 */
export async function insertSessionEvents(db: Db, events: readonly NewSessionEvent[]): Promise<void> {
  if (events.length === 0) return
  const values = events.map(event => ({
    session_id: event.sessionId,
    kernel_id: event.kernelId,
    from_status: event.from,
    to_status: event.to,
    reason: JSON.stringify(event.reason),
    actor: event.actor,
  }))
  await db.insertInto('session_events').values(values).execute()
  await writeSessionEvents(db, events)
}

/** Reason of the last transition of the session to this status. `sessions.reason` may be newer and describe later progress. */
export async function findReasonTo(db: Db, sessionId: SessionId, status: SessionStatus): Promise<Reason | undefined> {
  const row = await db
    .selectFrom('session_events')
    .select('reason')
    .where('session_id', '=', sessionId)
    .where('to_status', '=', status)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.reason
}

/** Number of transitions of the session for this reason. */
export async function countEventsOf(db: Db, sessionId: SessionId, code: Reason['code']): Promise<number> {
  const { count } = await db
    .selectFrom('session_events')
    .select(sql<number>`count(*)`.as('count'))
    .where('session_id', '=', sessionId)
    .where(sql`reason ->> 'code'`, '=', code)
    .executeTakeFirstOrThrow()
  return count
}

/** Whether the timeline of the session has an event with this code that is younger than so many milliseconds. */
export async function hasRecentEvent(
  db: Db,
  sessionId: SessionId,
  { code, withinMs }: { readonly code: Reason['code']; readonly withinMs: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('session_events')
    .select('id')
    .where('session_id', '=', sessionId)
    .where(sql`reason ->> 'code'`, '=', code)
    .where('at', '>', sql<Date>`now() - ${withinMs} * interval '1 millisecond'`)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** @param page `after`: id of the last event of the previous page */
export async function listSessionEvents(
  db: Db,
  sessionId: SessionId,
  page: { readonly limit: number; readonly after: number | undefined; readonly descending: boolean },
): Promise<SessionEvent[]> {
  const { limit, after, descending } = page
  const rows = await db
    .selectFrom('session_events')
    .selectAll()
    .where('session_id', '=', sessionId)
    .$if(after !== undefined, query => query.where('id', descending ? '<' : '>', after ?? 0))
    .orderBy('id', descending ? 'desc' : 'asc')
    .limit(limit)
    .execute()
  return rows.map(row => ({
    id: row.id,
    at: row.at.toISOString(),
    kernelId: row.kernel_id,
    from: row.from_status,
    to: row.to_status,
    reason: row.reason,
    actor: row.actor,
  }))
}
