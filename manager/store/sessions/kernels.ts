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
import { type Db, type KernelDevicesTable, type KernelsTable } from '../schema.ts'

export type KernelRow = Selectable<KernelsTable>
export type KernelDeviceRow = Selectable<KernelDevicesTable>

/** What reconciliation needs to know of a kernel. */
export interface KnownKernel {
  readonly kernelId: KernelId
  readonly sessionId: SessionId
  readonly status: SessionStatus
  readonly agentId: AgentId | null
  readonly attempt: number
  /** How long its session has been in its state. */
  readonly forMs: number
}

/** For each question: kernels that hold slots on the agent, and those with these ids wherever they are. */
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
  /** Of the session: some of its kernels may be further. */
  readonly status: SessionStatus
}

/** For each agent the sessions that hold slots on it. */
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

/** Containers of sessions that hold something on the agent, as far as they are known. */
export async function listContainersOn(db: Db, agentId: AgentId): Promise<string[]> {
  const rows = await db
    .selectFrom('kernels')
    .select('container_id')
    .where('agent_id', '=', agentId)
    .where('status', 'in', OCCUPYING_STATUSES)
    .execute()
  return rows.flatMap(({ container_id }) => container_id ?? [])
}

/** Of each session the main one first, then sub1, sub2, … */
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
  /** `main1` if left out. */
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
  /** Null releases the agent and the devices (retry). */
  readonly agent_id?: null
  /** Milliseconds from now; null clears it. */
  readonly startWithinMs?: number | null
}

/** A status with the time of its end: every statement that gives a kernel another status writes both. */
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

/** Of a start that waits for its turn on its agent: its agent gives it up so much later from now. Never brought forward. */
export async function extendStartBy(db: Db, id: KernelId, withinMs: number): Promise<void> {
  await db
    .updateTable('kernels')
    .set({ start_by: sql<Date>`greatest(start_by, ${inMs(withinMs)})` })
    .where('id', '=', id)
    .where('start_by', 'is not', null)
    .execute()
}

/**
 * What a move of the session means for all of its kernels. Those that have ended stay as they are, and those that run
 * already while others start; a retry begins anew with all of them.
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

/** One kernel of several that start together is up. */
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

/** A kernel beside the main one has done its work; the session goes on. @returns whether it was there to end */
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

/** Sessions that hold something on agents that were revoked. */
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

/** Keeps the first log tail and exit code that is learned after the end, of the agent that the kernel was placed on. */
export async function keepLastWords(
  db: Db,
  { id, agentId }: { readonly id: KernelId; readonly agentId: AgentId },
  words: { exitCode: number | null; logTail: string },
): Promise<void> {
  await db
    .updateTable('kernels')
    .set({
      exit_code: sql`coalesce(exit_code, ${words.exitCode})`,
      log_tail: sql`coalesce(nullif(log_tail, ''), ${logTailOf(words.logTail)})`,
    })
    .where('id', '=', id)
    // An agent may name the kernel of another one: what it says of that does not count.
    .where('agent_id', '=', agentId)
    .execute()
}

/** The end of a log as it is kept. */
const LOG_TAIL_CHARACTERS = 64 * 1024

export function logTailOf(text: string): string {
  return text.slice(-LOG_TAIL_CHARACTERS).toWellFormed().replaceAll('\0', '')
}
