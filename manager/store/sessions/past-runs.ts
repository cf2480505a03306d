import { sql } from 'kysely'
import { KernelId, LIVE_STATUSES, type SessionId } from '#manager/contract'
import { newId } from '../new-id.ts'
import { startWithAdded } from './session-folders.ts'
import { type Db } from '../schema.ts'
import { type HeldDevice } from '../tables/scheduling.ts'

/**
 * Ends the run of an interrupted session: its kernels become past kernels, and the session gets kernels with new ids that
 * continue with their homes. Call it in the transaction of the transition, before the session's `started_at` is cleared.
 */
export async function beginNextRun(db: Db, sessionId: SessionId): Promise<void> {
  await startWithAdded(db, sessionId)
  await sql`
    insert into past_kernels
      (kernel_id, session_id, agent_id, attempt, container_id, exit_code, log_tail, devices, started_at, ended_at, cpu_seconds, stats)
    select k.id, s.id, k.agent_id, k.attempt, k.container_id, k.exit_code, k.log_tail,
      coalesce((select jsonb_agg(jsonb_build_object('uuid', d.uuid, 'slot', d.slot, 'amount', d.amount))
        from kernel_devices d where d.kernel_id = k.id), '[]'),
      coalesce(s.started_at, now()), coalesce(k.ended_at, now()),
      (last.stats->>'cpuSeconds')::float8 / s.cluster_size, last.stats - 'kernels' - 'gpus'
    from sessions s join kernels k on k.session_id = s.id
      left join lateral (
        select m.stats from session_stats_minutes m
        where m.session_id = s.id and m.minute >= date_trunc('minute', s.started_at) order by m.minute desc limit 1) last on true
    where s.id = ${sessionId}`.execute(db)
  const kernels = await db
    .selectFrom('kernels')
    .select(['id', 'ended_at'])
    .where('session_id', '=', sessionId)
    .execute()
  await db
    .deleteFrom('kernel_devices')
    .where(
      'kernel_id',
      'in',
      kernels.map(({ id }) => id),
    )
    .execute()
  for (const { id, ended_at } of kernels) {
    await db
      .updateTable('kernels')
      .set({
        id: newId(KernelId),
        // A secondary kernel that had finished its work starts anew: its home is not kept for the session.
        files_of: ended_at === null ? id : null,
        status: 'PENDING',
        agent_id: null,
        container_id: null,
        start_by: null,
        exit_code: null,
        log_tail: null,
        ended_at: null,
        attempt: 0,
      })
      .where('id', '=', id)
      .execute()
  }
}

/**
 * Restores the state of the last run for a session that ended before it could continue, so that it can be started again with its files.
 * Call it in the transaction of its end. @returns whether there was an earlier run
 */
export async function returnToLastRun(db: Db, sessionId: SessionId): Promise<boolean> {
  const { rows } = await sql<{
    id: KernelId
    files_of: KernelId
    devices: readonly HeldDevice[]
    agent_id: string | null
  }>`
    select k.id, k.files_of, p.devices, p.agent_id from kernels k join past_kernels p on p.kernel_id = k.files_of
    where k.session_id = ${sessionId}`.execute(db)
  if (rows.length === 0) return false
  await sql`
    update sessions s set started_at = (select min(p.started_at) from past_kernels p join kernels k on k.files_of = p.kernel_id
      where k.session_id = s.id) where s.id = ${sessionId}`.execute(db)
  for (const { id, files_of: old, devices, agent_id } of rows) {
    await db.deleteFrom('kernel_devices').where('kernel_id', '=', id).execute()
    await sql`
      update kernels k set id = p.kernel_id, files_of = null, agent_id = p.agent_id, attempt = p.attempt,
        container_id = p.container_id, exit_code = p.exit_code, log_tail = p.log_tail, ended_at = p.ended_at
      from past_kernels p where k.id = ${id} and p.kernel_id = ${old}`.execute(db)
    await sql`
      insert into kernel_devices (kernel_id, agent_id, uuid, slot, amount)
      select ${old}, ${agent_id}, d.uuid, d.slot, d.amount
      from jsonb_to_recordset(${JSON.stringify(devices)}::jsonb) as d (uuid text, slot text, amount bigint)`.execute(db)
    await db.deleteFrom('past_kernels').where('kernel_id', '=', old).execute()
  }
  return true
}

/** Whether a session waits to continue with the home of this kernel of its last run. */
export async function isHomeAwaited(db: Db, kernelId: KernelId): Promise<boolean> {
  const row = await db
    .selectFrom('kernels')
    .select('id')
    .where('files_of', '=', kernelId)
    .where('status', 'in', LIVE_STATUSES)
    .executeTakeFirst()
  return row !== undefined
}

/** The data of a kernel of an earlier run that usage reports need. */
export interface PastKernel {
  readonly sessionId: SessionId
  readonly devices: readonly HeldDevice[]
  readonly ranMs: number
  readonly cpuSeconds: number | null
}

export async function listPastKernels(db: Db, sessionIds: readonly SessionId[]): Promise<PastKernel[]> {
  if (sessionIds.length === 0) return []
  const { rows } = await sql<PastKernel>`
    select session_id as "sessionId", devices, cpu_seconds as "cpuSeconds",
      (extract(epoch from ended_at - started_at) * 1000)::float8 as "ranMs"
    from past_kernels where session_id = any(${sessionIds}::uuid[])`.execute(db)
  return rows
}
