import { sql, type Selectable } from 'kysely'
import {
  type AgentId,
  FINISHED_STATUSES,
  isFinished,
  type KernelId,
  OCCUPYING_STATUSES,
  type ResourceSlots,
  type SessionId,
  type SessionStatus,
} from '#manager/contract'
import { type Db } from '../schema.ts'
import { keptLog } from './kept-log.ts'
import { type KernelDevicesTable, type KernelsTable } from '../tables/sessions.ts'

export type KernelRow = Selectable<KernelsTable>
export type KernelDeviceRow = Selectable<KernelDevicesTable>

/** State of a kernel in the database, for reconciliation with reports of agents. */
export interface KnownKernel {
  readonly kernelId: KernelId
  readonly sessionId: SessionId
  readonly status: SessionStatus
  readonly agentId: AgentId | null
  readonly attempt: number
  /** How long the session has been in its status, in milliseconds. */
  readonly forMs: number
}

/** For each query: the kernels that hold slots on the agent, and the kernels with these ids on any agent. */
export async function listKernelsToReconcile(
  db: Db,
  questions: readonly { readonly agentId: AgentId; readonly kernelIds: readonly KernelId[] }[],
): Promise<KnownKernel[][]> {
  const agentIds = questions.map(({ agentId }) => agentId)
  const kernelIds = questions.flatMap(question => question.kernelIds)
  const rows = await db
    .selectFrom('kernels')
    .innerJoin('sessions', 'sessions.id', 'kernels.session_id')
    .select(['kernels.id', 'kernels.session_id', 'kernels.status', 'kernels.agent_id', 'kernels.attempt'])
    .select(sql<number>`(extract(epoch from clock_timestamp() - sessions.status_at) * 1000)::bigint`.as('for_ms'))
    .where(eb =>
      eb.or([
        eb.and([
          eb('kernels.agent_id', '=', sql<AgentId>`any(${agentIds}::uuid[])`),
          eb('kernels.status', 'in', OCCUPYING_STATUSES),
        ]),
        ...(kernelIds.length > 0 ? [eb('kernels.id', '=', sql<KernelId>`any(${kernelIds}::uuid[])`)] : []),
      ]),
    )
    .execute()
  const byId = new Map(rows.map(row => [row.id, row]))
  const byAgent = Map.groupBy(rows, row => row.agent_id)
  return questions.map(({ agentId, kernelIds: ids }) => {
    const held = (byAgent.get(agentId) ?? []).filter(({ status }) => OCCUPYING.has(status))
    return [...new Set([...held, ...ids.flatMap(id => byId.get(id) ?? [])])].map(row => ({
      kernelId: row.id,
      sessionId: row.session_id,
      status: row.status,
      agentId: row.agent_id,
      attempt: row.attempt,
      forMs: row.for_ms,
    }))
  })
}

const OCCUPYING: ReadonlySet<SessionStatus> = new Set(OCCUPYING_STATUSES)

export interface SessionOnAgent {
  readonly sessionId: SessionId
  /** Status of the session; some of its kernels may be in a later status. */
  readonly status: SessionStatus
}

/** The sessions that hold slots on each agent, in the order of `agentIds`. */
export async function listSessionsOnAgents(db: Db, agentIds: readonly AgentId[]): Promise<SessionOnAgent[][]> {
  const rows = await db
    .selectFrom('kernels')
    .innerJoin('sessions', 'sessions.id', 'kernels.session_id')
    .select(['kernels.agent_id', 'kernels.session_id', 'sessions.status'])
    .distinct()
    .where('kernels.agent_id', '=', sql<AgentId>`any(${agentIds}::uuid[])`)
    .where('kernels.status', 'in', OCCUPYING_STATUSES)
    .orderBy('kernels.session_id')
    .execute()
  const byAgent = Map.groupBy(rows, row => row.agent_id)
  return agentIds.map(id => (byAgent.get(id) ?? []).map(({ session_id: sessionId, status }) => ({ sessionId, status })))
}

/** Ids of the known containers of kernels that hold slots on the agent. */
export async function listContainersOn(db: Db, agentId: AgentId): Promise<string[]> {
  const rows = await db
    .selectFrom('kernels')
    .select('container_id')
    .where('agent_id', '=', agentId)
    .where('status', 'in', OCCUPYING_STATUSES)
    .execute()
  return rows.flatMap(({ container_id }) => container_id ?? [])
}

/** Kernels of these sessions. Within a session the main kernel comes first, then sub1, sub2, … */
export async function listKernels(db: Db, sessionIds: readonly SessionId[]): Promise<KernelRow[]> {
  if (sessionIds.length === 0) return []
  return db
    .selectFrom('kernels')
    .selectAll()
    .where('session_id', 'in', sessionIds)
    .orderBy(sql`role <> 'main1'`)
    .orderBy(sql`length(role)`)
    .orderBy('role')
    .execute()
}

/** The agent on which the kernel holds slots now. */
export async function findOccupied(db: Db, id: KernelId): Promise<AgentId | undefined> {
  const row = await db
    .selectFrom('kernels')
    .select('agent_id')
    .where('id', '=', id)
    .where('status', 'in', OCCUPYING_STATUSES)
    .executeTakeFirst()
  return row?.agent_id ?? undefined
}

export async function listKernelDevices(db: Db, kernelIds: readonly KernelId[]): Promise<KernelDeviceRow[]> {
  if (kernelIds.length === 0) return []
  return db.selectFrom('kernel_devices').selectAll().where('kernel_id', 'in', kernelIds).orderBy('uuid').execute()
}

export interface NewKernel {
  readonly id: KernelId
  readonly sessionId: SessionId
  /** `main1` by default. */
  readonly role?: string
  readonly status: SessionStatus
  readonly slots: ResourceSlots
  readonly agentId?: AgentId
  readonly attempt?: number
  readonly containerId?: string
}

export async function insertKernels(db: Db, kernels: readonly NewKernel[]): Promise<void> {
  const values = kernels.map(kernel => ({
    id: kernel.id,
    session_id: kernel.sessionId,
    role: kernel.role ?? 'main1',
    status: kernel.status,
    agent_id: kernel.agentId ?? null,
    attempt: kernel.attempt ?? 0,
    container_id: kernel.containerId ?? null,
    exit_code: null,
    slots: JSON.stringify(kernel.slots),
    log_tail: null,
  }))
  await db.insertInto('kernels').values(values).execute()
}

export async function insertKernelDevices(db: Db, devices: readonly KernelDeviceRow[]): Promise<void> {
  if (devices.length > 0)
    await db
      .insertInto('kernel_devices')
      .values([...devices])
      .execute()
}

export interface KernelChange {
  readonly status?: SessionStatus
  readonly container_id?: string | null
  readonly exit_code?: number | null
  readonly log_tail?: string | null
  /** Null removes the kernel from its agent and releases its devices (for a retry). */
  readonly agent_id?: null
  /** Sets `start_by` to this many milliseconds from now; null clears it. */
  readonly startWithinMs?: number | null
}

/** Columns for a new status of a kernel: every statement that changes `status` also sets `ended_at`. */
export function toStatus(status: SessionStatus) {
  return { status, ended_at: isFinished(status) ? sql<Date>`coalesce(ended_at, now())` : null }
}

const inMs = (ms: number) => sql<Date>`now() + ${ms} * interval '1 millisecond'`

export async function updateKernel(db: Db, id: KernelId, change: KernelChange): Promise<void> {
  const { startWithinMs, status, ...columns } = change
  const startBy = startWithinMs === undefined ? {} : { start_by: startWithinMs === null ? null : inMs(startWithinMs) }
  await db
    .updateTable('kernels')
    .set({ ...columns, ...(status === undefined ? {} : toStatus(status)), ...startBy })
    .where('id', '=', id)
    .execute()
  if (change.agent_id === null) await db.deleteFrom('kernel_devices').where('kernel_id', '=', id).execute()
}

/**
 * Moves the deadline of a start that is queued on the agent to `withinMs` milliseconds from now. The deadline never moves to an earlier
 * time.
 */
export async function extendStartBy(db: Db, id: KernelId, withinMs: number): Promise<void> {
  await db
    .updateTable('kernels')
    .set({ start_by: sql<Date>`greatest(start_by, ${inMs(withinMs)})` })
    .where('id', '=', id)
    .where('start_by', 'is not', null)
    .execute()
}

/**
 * Applies a new status of the session to its kernels. Finished kernels do not change, nor do running kernels while others
 * still start. A retry (PENDING) resets all kernels.
 */
export async function moveKernels(
  db: Db,
  sessionId: SessionId,
  { status, startWithinMs }: Pick<KernelChange, 'startWithinMs'> & { readonly status: SessionStatus },
): Promise<void> {
  const anew = { agent_id: null, container_id: null, start_by: null, exit_code: null, log_tail: null }
  const starting = status === 'SCHEDULED' || status === 'PREPARING' || status === 'PULLING'
  await db
    .updateTable('kernels')
    .set({
      ...toStatus(status),
      ...(status === 'PENDING' ? anew : {}),
      ...(typeof startWithinMs === 'number' ? { start_by: inMs(startWithinMs) } : {}),
    })
    .where('session_id', '=', sessionId)
    .$if(status !== 'PENDING', query => query.where('status', 'not in', FINISHED_STATUSES))
    .$if(starting, query => query.where('status', '<>', 'RUNNING'))
    .execute()
  if (status !== 'PENDING') return
  const own = db.selectFrom('kernels').select('id').where('session_id', '=', sessionId)
  await db.deleteFrom('kernel_devices').where('kernel_id', 'in', own).execute()
}

/** Records that one kernel of a session with several kernels is running. */
export async function noteKernelRunning(
  db: Db,
  id: KernelId,
  { attempt, containerId }: { attempt: number; containerId: string },
): Promise<void> {
  await db
    .updateTable('kernels')
    .set({ ...toStatus('RUNNING'), container_id: containerId })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('status', 'in', ['PREPARING', 'PULLING'])
    .execute()
}

/**
 * Records that a kernel beside the main one has finished with exit code 0; the session continues.
 * @returns false if there was no such kernel starting or running in this attempt on this agent
 */
export async function noteKernelDone(
  db: Db,
  id: KernelId,
  { attempt, agentId }: { attempt: number; agentId: AgentId },
): Promise<boolean> {
  const row = await db
    .updateTable('kernels')
    .set({ ...toStatus('TERMINATED'), exit_code: 0 })
    .where('id', '=', id)
    .where('attempt', '=', attempt)
    .where('agent_id', '=', agentId)
    .where('role', '<>', 'main1')
    .where('status', 'in', ['PREPARING', 'PULLING', 'RUNNING'])
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** Sessions that hold slots on revoked agents. */
export async function listSessionsOnRevoked(
  db: Db,
  { agentId, limit }: { readonly agentId?: AgentId | undefined; readonly limit: number },
): Promise<{ readonly sessionId: SessionId; readonly on: AgentId; readonly agentName: string }[]> {
  return db
    .selectFrom('kernels')
    .innerJoin('agents', 'agents.id', 'kernels.agent_id')
    .select(['kernels.session_id as sessionId', 'agents.id as on', 'agents.name as agentName'])
    .distinct()
    .where('agents.status', '=', 'REVOKED')
    .where('kernels.status', 'in', OCCUPYING_STATUSES)
    .$if(agentId !== undefined, query => query.where('agents.id', '=', agentId as AgentId))
    .orderBy('kernels.session_id')
    .limit(limit)
    .execute()
}

/** Stores the end of the log and the exit code that the agent of the kernel reports after the end, unless they are known already. */
export async function keepLastWords(
  db: Db,
  { id, agentId }: { readonly id: KernelId; readonly agentId: AgentId },
  words: { exitCode: number | null; logTail: string },
): Promise<void> {
  await db
    .updateTable('kernels')
    .set({
      exit_code: sql`coalesce(exit_code, ${words.exitCode})`,
      log_tail: sql`coalesce(nullif(log_tail, ''), ${keptLog({ text: words.logTail, truncated: false })})`,
    })
    .where('id', '=', id)
    // An agent may name a kernel of another agent: such a report is ignored.
    .where('agent_id', '=', agentId)
    .execute()
}
