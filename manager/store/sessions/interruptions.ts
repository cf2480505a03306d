import { sql } from 'kysely'
import { type AgentId, type KernelId, OCCUPYING_STATUSES, type ResourceSlots, type SessionId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type HeldDevice } from '../tables/scheduling.ts'
import { lockedSessions, type Touched } from './touches.ts'

export interface InterruptionRow {
  /** The session for which others are interrupted. */
  readonly sessionId: SessionId
  readonly agentId: AgentId
  /** Milliseconds since the epoch. */
  readonly at: number
}

export async function findInterruption(db: Db, resourceGroup: string): Promise<InterruptionRow | undefined> {
  const row = await db
    .selectFrom('interruptions')
    .select(['session_id as sessionId', 'agent_id as agentId', 'at'])
    .where('resource_group', '=', resourceGroup)
    .executeTakeFirst()
  return row && { ...row, at: row.at.getTime() }
}

/** Sets the interruption of a resource group; undefined removes it. */
export async function saveInterruption(
  db: Db,
  resourceGroup: string,
  interruption: InterruptionRow | undefined,
): Promise<void> {
  if (!interruption) {
    await db.deleteFrom('interruptions').where('resource_group', '=', resourceGroup).execute()
    return
  }
  const { sessionId, agentId, at } = interruption
  const values = { session_id: sessionId, agent_id: agentId, at: new Date(at).toISOString() }
  await db
    .insertInto('interruptions')
    .values({ resource_group: resourceGroup, ...values })
    .onConflict(conflict => conflict.column('resource_group').doUpdateSet(values))
    .execute()
}

/** A session that may be interrupted, or that is being ended. */
export interface HoldingRow {
  readonly id: SessionId
  readonly agentId: AgentId
  readonly priority: number
  readonly slots: readonly ResourceSlots[]
  readonly devices: readonly HeldDevice[]
  readonly ranMs: number
  readonly isLeaving: boolean
  readonly isAnnounced: boolean
}

/** Sessions of a group that may release resources: interruptible running ones, and those that are being ended. */
export async function listHolding(db: Db, resourceGroup: string): Promise<HoldingRow[]> {
  const { rows } = await sql<HoldingRow>`
    select s.id, k.agent_id as "agentId", s.priority, jsonb_agg(k.slots) as slots,
      (extract(epoch from now() - coalesce(s.started_at, now())) * 1000)::float8 as "ranMs",
      s.status = 'TERMINATING' as "isLeaving", s.interrupt_at is not null as "isAnnounced",
      coalesce((select jsonb_agg(jsonb_build_object('uuid', x.uuid, 'slot', x.slot, 'amount', x.amount))
        from kernel_devices x join kernels o on o.id = x.kernel_id
        where o.session_id = s.id and o.agent_id = k.agent_id and o.status in (${sql.join(OCCUPYING_STATUSES)})), '[]') as devices
    from sessions s
      join kernels k on k.session_id = s.id and k.agent_id is not null and k.status in (${sql.join(OCCUPYING_STATUSES)})
    where s.resource_group = ${resourceGroup} and (s.status = 'TERMINATING' or (s.interruptible and s.status = 'RUNNING'))
    group by s.id, k.agent_id`.execute(db)
  return rows
}

/**
 * Announces the interruption of these sessions, except those that do not run any more, may not be interrupted, or have an announcement
 * already.
 */
export async function announceInterruption(db: Db, ids: readonly SessionId[], at: number): Promise<Touched[]> {
  if (ids.length === 0) return []
  const still = sql`status = 'RUNNING' and interruptible and interrupt_at is null`
  const { rows } = await sql<Touched>`
    with ${lockedSessions(ids, still)}
    update sessions s set interrupt_at = ${new Date(at).toISOString()}::timestamptz, version = s.version + 1
    from locked where s.id = locked.id and s.status = 'RUNNING' and s.interruptible and s.interrupt_at is null
    returning s.id, s.owner_id as "ownerId", s.domain, s.version`.execute(db)
  return rows
}

/** Cancels the announced interruptions of the group, except of these sessions. Sessions that are being stopped are not changed. */
export async function callOffInterruptions(
  db: Db,
  resourceGroup: string,
  except: readonly SessionId[],
): Promise<Touched[]> {
  const found = await db
    .selectFrom('sessions')
    .select('id')
    .where('resource_group', '=', resourceGroup)
    .where('interrupt_at', 'is not', null)
    .where('status', '=', 'RUNNING')
    .execute()
  return callOff(
    db,
    found.map(({ id }) => id).filter(id => !except.includes(id)),
  )
}

/** Cancels the announced interruption of a running session, if there is one. */
export const callOffInterruption = (db: Db, id: SessionId): Promise<Touched[]> => callOff(db, [id])

async function callOff(db: Db, ids: readonly SessionId[]): Promise<Touched[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<Touched>`
    with ${lockedSessions(ids, sql`status = 'RUNNING' and interrupt_at is not null`)}
    update sessions s set interrupt_at = null, version = s.version + 1
    from locked where s.id = locked.id and s.status = 'RUNNING' and s.interrupt_at is not null
    returning s.id, s.owner_id as "ownerId", s.domain, s.version`.execute(db)
  return rows
}

/**
 * Makes an interrupted session end for good, because somebody has ended it while it was being stopped for another one. @returns whether it
 * was being interrupted
 */
export async function giveUpContinuing(db: Db, id: SessionId): Promise<boolean> {
  const row = await db
    .updateTable('sessions')
    .set({ interrupt_at: null })
    .where('id', '=', id)
    .where('status', '=', 'TERMINATING')
    .where('interrupt_at', 'is not', null)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

export interface WarnedKernel {
  readonly sessionId: SessionId
  readonly kernelId: KernelId
  readonly agentId: AgentId
}

/** Running kernels of these sessions. */
export async function listRunningKernels(db: Db, ids: readonly SessionId[]): Promise<WarnedKernel[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('kernels')
    .select(['session_id', 'id', 'agent_id'])
    .where('session_id', 'in', ids)
    .where('status', '=', 'RUNNING')
    .execute()
  return rows.flatMap(({ session_id: sessionId, id: kernelId, agent_id: agentId }) =>
    agentId === null ? [] : [{ sessionId, kernelId, agentId }],
  )
}
