import { type ExpressionBuilder, sql, type Selectable } from 'kysely'
import {
  type AgentId,
  type KernelId,
  LIVE_STATUSES,
  type Reason,
  type ResourceSlots,
  type SessionId,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { type KernelApp } from '#agent/contract'
import { type Database, type Db, type SessionsTable } from './schema.ts'

export type SessionRow = Selectable<SessionsTable>
/** With what views and rules need of the owner. */
export type OwnedSessionRow = SessionRow & { owner_email: string }

export interface NewSession {
  readonly id: SessionId
  readonly name: string
  readonly ownerId: UserId
  readonly status: SessionStatus
  readonly reason: Reason
  readonly resourceGroup: string
  readonly image: string
  readonly imageDigest: string | null
  readonly requested: ResourceSlots
  readonly shmemBytes: number
  readonly environ: Readonly<Record<string, string>>
  readonly startupCommand: string | null
  readonly apps: readonly KernelApp[]
  readonly attempt?: number
  readonly createdAt?: string
  readonly startedAt?: string
}

export async function insertSessions(db: Db, sessions: readonly NewSession[]): Promise<void> {
  const values = sessions.map(session => ({
    id: session.id,
    name: session.name,
    owner_id: session.ownerId,
    status: session.status,
    reason: JSON.stringify(session.reason),
    resource_group: session.resourceGroup,
    image: session.image,
    image_digest: session.imageDigest,
    requested: JSON.stringify(session.requested),
    shmem_bytes: session.shmemBytes,
    environ: JSON.stringify(session.environ),
    startup_command: session.startupCommand,
    apps: JSON.stringify(session.apps),
    attempt: session.attempt ?? 0,
    ...(session.createdAt === undefined ? {} : { created_at: session.createdAt }),
    ...(session.startedAt === undefined ? {} : { started_at: session.startedAt }),
  }))
  await db.insertInto('sessions').values(values).execute()
}

const owned = (db: Db) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.owner_id')
    .selectAll('sessions')
    .select('users.email as owner_email')

export async function findSession(db: Db, id: SessionId): Promise<OwnedSessionRow | undefined> {
  return owned(db).where('sessions.id', '=', id).executeTakeFirst()
}

/** Locks the row until the transaction ends: transitions of one session happen one after the other. */
export async function lockSession(db: Db, id: SessionId): Promise<SessionRow | undefined> {
  return db.selectFrom('sessions').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export interface SessionFilter {
  readonly ownerId?: UserId | undefined
  readonly statuses?: readonly SessionStatus[] | undefined
  readonly name?: string | undefined
}

export interface SessionPage {
  readonly rows: readonly OwnedSessionRow[]
  readonly total: number
}

/** Newest first; ids sort by age. @param before id of the last row of the page before */
export async function listSessions(
  db: Db,
  filter: SessionFilter,
  page: { limit: number; before?: SessionId | undefined },
): Promise<SessionPage> {
  const matches = (eb: ExpressionBuilder<Database, 'sessions'>) =>
    eb.and([
      ...(filter.ownerId === undefined ? [] : [eb('sessions.owner_id', '=', filter.ownerId)]),
      ...(filter.statuses === undefined ? [] : [eb('sessions.status', 'in', filter.statuses)]),
      ...(filter.name === undefined ? [] : [eb('sessions.name', '=', filter.name)]),
    ])
  const query = owned(db).where(matches).orderBy('sessions.id', 'desc').limit(page.limit)
  const rows = await (page.before === undefined ? query : query.where('sessions.id', '<', page.before)).execute()
  const { total } = await db
    .selectFrom('sessions')
    .select(eb => eb.fn.countAll<number>().as('total'))
    .where(matches)
    .executeTakeFirstOrThrow()
  return { rows, total }
}

export interface SessionChange {
  readonly status: SessionStatus
  readonly reason: Reason
  readonly attempt?: number
  readonly failedAgents?: readonly AgentId[]
  /** ISO 8601, or `now` for the database's time. */
  readonly started?: string
  readonly ended?: boolean
}

/** @returns the new version */
export async function updateSession(db: Db, id: SessionId, change: SessionChange): Promise<number> {
  const row = await db
    .updateTable('sessions')
    .set({
      status: change.status,
      reason: JSON.stringify(change.reason),
      status_at: sql`now()`,
      version: sql`version + 1`,
      ...(change.attempt === undefined ? {} : { attempt: change.attempt }),
      ...(change.failedAgents === undefined ? {} : { failed_agents: JSON.stringify(change.failedAgents) }),
      ...(change.started === undefined ? {} : { started_at: change.started === 'now' ? sql`now()` : change.started }),
      ...(change.ended ? { ended_at: sql`now()` } : {}),
    })
    .where('id', '=', id)
    .returning('version')
    .executeTakeFirstOrThrow()
  return row.version
}

export interface Touched {
  readonly id: SessionId
  readonly ownerId: UserId
  readonly version: number
}

const TOUCHED = ['id', 'owner_id', 'version'] as const
const toTouched = (row: Pick<SessionRow, (typeof TOUCHED)[number]>): Touched => ({
  id: row.id,
  ownerId: row.owner_id,
  version: row.version,
})

/** A new version without a transition: something that the view shows has changed. */
export async function touchSessions(db: Db, ids: readonly SessionId[]): Promise<Touched[]> {
  if (ids.length === 0) return []
  const rows = await db
    .updateTable('sessions')
    .set({ version: sql`version + 1` })
    .where('id', 'in', ids)
    .returning(TOUCHED)
    .execute()
  return rows.map(toTouched)
}

/** New reasons without a transition, for sessions that still have this status. */
export async function updateReasons(
  db: Db,
  status: SessionStatus,
  reasons: ReadonlyMap<SessionId, Reason>,
): Promise<Touched[]> {
  if (reasons.size === 0) return []
  const { rows } = await sql<Pick<SessionRow, (typeof TOUCHED)[number]>>`
    update sessions s set reason = v.reason, version = s.version + 1
    from (
      select unnest(${[...reasons.keys()]}::uuid[]) as id,
             unnest(${[...reasons.values()].map(reason => JSON.stringify(reason))}::text[])::jsonb as reason
    ) v
    where s.id = v.id and s.status = ${status}
    returning s.id, s.owner_id, s.version`.execute(db)
  return rows.map(toTouched)
}

export async function listPendingGroups(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .select('resource_group')
    .distinct()
    .where('status', '=', 'PENDING')
    .execute()
  return rows.map(row => row.resource_group)
}

const QUEUED = [
  'id',
  'owner_id',
  'created_at',
  'requested',
  'image',
  'image_digest',
  'failed_agents',
  'reason',
] as const
/** What scheduling needs of a session; there may be ten thousand of them. */
export type QueuedRow = Pick<SessionRow, (typeof QUEUED)[number]>

export async function listPending(db: Db, resourceGroup: string): Promise<QueuedRow[]> {
  return db
    .selectFrom('sessions')
    .select(QUEUED)
    .where('resource_group', '=', resourceGroup)
    .where('status', '=', 'PENDING')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** A session in a state that must not last, with how long it has lasted by the database's clock. */
export interface Overdue {
  readonly sessionId: SessionId
  readonly kernelId: KernelId
  readonly status: SessionStatus
  readonly agentId: AgentId | null
  readonly attempt: number
  readonly ageMs: number
  /** The agent has given up on this attempt by itself. */
  readonly startByPassed: boolean
  readonly reason: Reason
}

export async function listTransitional(db: Db, minAgeMs: number): Promise<Overdue[]> {
  const { rows } = await sql<Overdue>`
    select s.id as "sessionId", k.id as "kernelId", s.status, k.agent_id as "agentId", k.attempt, s.reason,
           (extract(epoch from now() - s.status_at) * 1000)::bigint as "ageMs",
           coalesce(k.start_by < now(), true) as "startByPassed"
    from sessions s join kernels k on k.session_id = s.id
    where s.status in ('SCHEDULED', 'PREPARING', 'PULLING', 'TERMINATING')
      and s.status_at <= now() - ${minAgeMs} * interval '1 millisecond'`.execute(db)
  return rows
}

export async function countSessions(db: Db): Promise<{ running: number; pending: number }> {
  const rows = await db
    .selectFrom('sessions')
    .select(['status', eb => eb.fn.countAll<number>().as('count')])
    .where('status', 'in', LIVE_STATUSES)
    .groupBy('status')
    .execute()
  const count = (status: SessionStatus) => rows.find(row => row.status === status)?.count ?? 0
  return { running: count('RUNNING'), pending: count('PENDING') }
}

/** Serialises everything that gives out or takes up capacity of a resource group, until the transaction ends. */
export async function lockResourceGroup(db: Db, resourceGroup: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`berth:scheduler:${resourceGroup}`}, 0))`.execute(db)
}

export async function findLiveNames(db: Db, ownerId: UserId): Promise<Set<string>> {
  const rows = await db
    .selectFrom('sessions')
    .select('name')
    .where('owner_id', '=', ownerId)
    .where('status', 'in', LIVE_STATUSES)
    .execute()
  return new Set(rows.map(row => row.name))
}

export async function findSessionOfKernel(
  db: Db,
  kernelId: KernelId,
): Promise<{ sessionId: SessionId; ownerId: UserId; agentId: AgentId | null } | undefined> {
  const row = await db
    .selectFrom('kernels')
    .innerJoin('sessions', 'sessions.id', 'kernels.session_id')
    .select(['sessions.id', 'sessions.owner_id', 'kernels.agent_id'])
    .where('kernels.id', '=', kernelId)
    .executeTakeFirst()
  return row && { sessionId: row.id, ownerId: row.owner_id, agentId: row.agent_id }
}
