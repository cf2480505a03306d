import { sql } from 'kysely'
import {
  because,
  OCCUPYING_STATUSES,
  reasonOf,
  type Scheduling,
  type SessionId,
  type SessionStatus,
} from '#manager/contract'
import { toStatus } from '../sessions/kernels.ts'
import { type Db } from '../schema.ts'
import { insertSessionEvents } from '../sessions/session-events.ts'

const KEY = 'scheduling_paused'
type Pause = NonNullable<Scheduling['paused']>

export async function readPause(db: Db): Promise<Pause | null> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', KEY).executeTakeFirst()
  return (row?.value as Pause | undefined) ?? null
}

const LOCK = sql`hashtextextended('berth:pause', 0)`

/**
 * Reads the pause under a shared lock, so that a pause cannot begin before the transaction ends: `writePause` waits for all transactions
 * that have read that nothing is paused.
 */
export async function holdPause(trx: Db): Promise<Pause | null> {
  await sql`select pg_advisory_xact_lock_shared(${LOCK})`.execute(trx)
  return readPause(trx)
}

/** Pauses scheduling; no session is placed after the transaction has ended. An existing pause is not changed. */
export async function writePause(trx: Db, why: Pause['why']): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCK})`.execute(trx)
  await sql`
    insert into settings (key, value)
    values (${KEY}, jsonb_build_object('since', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'why', ${why}::text))
    on conflict (key) do nothing`.execute(trx)
}

export async function deletePause(db: Db): Promise<void> {
  await db.deleteFrom('settings').where('key', '=', KEY).execute()
}

/**
 * After a restore, puts sessions that were starting at the time of the backup back into the queue (PENDING). Their later fate is unknown.
 * If such a session runs, its agent reports it, and it is adopted there.
 */
export async function requeueStarting(trx: Db): Promise<void> {
  const reason = reasonOf('retried', because('was_starting_at_backup'))
  const { rows } = await sql<{ id: SessionId; before: SessionStatus }>`
    with starting as (
      select id, status from sessions where status in ('SCHEDULED', 'PREPARING', 'PULLING') for update)
    update sessions set status = 'PENDING', status_at = now(), reason = ${JSON.stringify(reason)}::jsonb, version = version + 1
    from starting where sessions.id = starting.id returning sessions.id, starting.status as before`.execute(trx)
  const ids = rows.map(({ id }) => id)
  if (ids.length === 0) return
  await trx
    .deleteFrom('kernel_devices')
    .where('kernel_id', 'in', eb => eb.selectFrom('kernels').select('id').where('session_id', 'in', ids))
    .execute()
  await trx
    .updateTable('kernels')
    .set({ ...toStatus('PENDING'), agent_id: null, container_id: null, start_by: null })
    .where('session_id', 'in', ids)
    .where('status', 'in', OCCUPYING_STATUSES)
    .execute()
  await insertSessionEvents(
    trx,
    rows.map(({ id, before }) => ({ sessionId: id, kernelId: null, from: before, to: 'PENDING', reason, actor: null })),
  )
}
