import { type ExpressionBuilder, type RawBuilder, sql, type Selectable } from 'kysely'
import {
  type App,
  type AgentId,
  FINISHED_STATUSES,
  type GroupId,
  type KernelId,
  LIVE_STATUSES,
  type Reason,
  type ResourceSlots,
  type SessionId,
  type SessionKind,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { type Database, type Db, type SessionsTable } from '../schema.ts'

export type SessionRow = Selectable<SessionsTable>
/** A session with the data of its owner and project that views and access rules need. */
export type OwnedSessionRow = SessionRow & {
  owner_email: string
  owner_ssh_public_key: string | null
  group_name: string | null
  /** The database's clock at the time of reading. Compare times of rows with this clock only. */
  now: Date
}

/** Owner and domain of a session, by which access rules decide who may see it. */
export function ownedOf(session: Pick<SessionRow, 'owner_id' | 'domain'>): { ownerId: UserId; domain: string } {
  return { ownerId: session.owner_id, domain: session.domain }
}

export interface NewSession {
  readonly id: SessionId
  readonly name: string
  readonly ownerId: UserId
  /** Access key of the signed request that created the session. */
  readonly keypair?: string | null
  readonly domain?: string
  /** The group (project) whose limits it counts for. */
  readonly groupId?: GroupId | null
  readonly status: SessionStatus
  readonly reason: Reason
  readonly resourceGroup: string
  readonly image: string
  readonly imageDigest: string | null
  readonly requested: ResourceSlots
  readonly shmemBytes: number
  readonly shmemFromImage?: boolean
  readonly environ: Readonly<Record<string, string>>
  readonly startupCommand: string | null
  readonly apps: readonly App[]
  readonly clusterSize?: number
  readonly priority?: number
  readonly dependsOn?: readonly SessionId[]
  readonly kind?: SessionKind
  readonly idleTimeoutSeconds?: number | null
  readonly maxLifetimeSeconds?: number | null
  readonly attempt?: number
  readonly createdAt?: string
  readonly startedAt?: string
  /** Ended kernel whose home directory the session continues with. */
  readonly filesOf?: KernelId | undefined
}

export async function insertSessions(db: Db, sessions: readonly NewSession[]): Promise<void> {
  const values = sessions.map(session => ({
    id: session.id,
    name: session.name,
    owner_id: session.ownerId,
    keypair: session.keypair ?? null,
    ...(session.domain === undefined ? {} : { domain: session.domain }),
    group_id: session.groupId ?? null,
    status: session.status,
    reason: JSON.stringify(session.reason),
    resource_group: session.resourceGroup,
    image: session.image,
    image_digest: session.imageDigest,
    requested: JSON.stringify(session.requested),
    shmem_bytes: session.shmemBytes,
    shmem_from_image: session.shmemFromImage ?? false,
    environ: JSON.stringify(session.environ),
    startup_command: session.startupCommand,
    apps: JSON.stringify(session.apps),
    cluster_size: session.clusterSize ?? 1,
    priority: session.priority ?? 0,
    depends_on: JSON.stringify(session.dependsOn ?? []),
    kind: session.kind ?? 'interactive',
    idle_timeout_seconds: session.idleTimeoutSeconds ?? null,
    max_lifetime_seconds: session.maxLifetimeSeconds ?? null,
    attempt: session.attempt ?? 0,
    files_of: session.filesOf ?? null,
    ...(session.createdAt === undefined ? {} : { created_at: session.createdAt }),
    ...(session.startedAt === undefined ? {} : { started_at: session.startedAt }),
  }))
  await db.insertInto('sessions').values(values).execute()
}

const owned = (db: Db) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.owner_id')
    .leftJoin('groups', 'groups.id', 'sessions.group_id')
    .selectAll('sessions')
    .select(['users.email as owner_email', 'users.ssh_public_key as owner_ssh_public_key', 'groups.name as group_name'])
    .select(sql<Date>`now()`.as('now'))

export async function findSession(db: Db, id: SessionId): Promise<OwnedSessionRow | undefined> {
  return owned(db).where('sessions.id', '=', id).executeTakeFirst()
}

/** Oldest first. */
export async function findSessions(db: Db, ids: readonly SessionId[]): Promise<OwnedSessionRow[]> {
  if (ids.length === 0) return []
  return owned(db).where('sessions.id', 'in', ids).orderBy('sessions.id').execute()
}

/** Stores how the agent of the session describes its own copy of the image. */
export async function setDescription(
  db: Db,
  id: SessionId,
  { apps, shmemBytes }: { apps: readonly App[]; shmemBytes: number },
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ apps: JSON.stringify(apps), shmem_bytes: shmemBytes })
    .where('id', '=', id)
    .execute()
}

/**
 * The session that has taken over the home directory of a kernel, or is about to. A session that ended before it ran has
 * given the home back and is not returned.
 */
export async function findHeir(db: Db, kernelId: KernelId): Promise<Pick<SessionRow, 'id' | 'name'> | undefined> {
  return db
    .selectFrom('sessions')
    .select(['id', 'name'])
    .where('files_of', '=', kernelId)
    .where(eb => eb.or([eb('started_at', 'is not', null), eb('status', 'not in', FINISHED_STATUSES)]))
    .executeTakeFirst()
}

/** Locks the row until the transaction ends, so that transitions of one session happen one after the other. */
export async function lockSession(db: Db, id: SessionId): Promise<SessionRow | undefined> {
  return db.selectFrom('sessions').selectAll().where('id', '=', id).forUpdate().executeTakeFirst()
}

export interface SessionFilter {
  readonly ids?: readonly SessionId[] | undefined
  /** Sessions of `ownerId` and, if `domain` is set, all sessions in it; undefined for all sessions. */
  readonly visible?: { readonly ownerId: UserId; readonly domain?: string } | undefined
  readonly domain?: string | undefined
  readonly groupId?: GroupId | undefined
  readonly ownerId?: UserId | undefined
  readonly statuses?: readonly SessionStatus[] | undefined
  readonly name?: string | undefined
}

/** Newest first; ids sort by age. @param page `before`: the last id of the previous page */
export async function listSessions(
  db: Db,
  filter: SessionFilter,
  page: { limit: number; before?: SessionId | undefined },
): Promise<OwnedSessionRow[]> {
  const query = owned(db).where(matching(filter)).orderBy('sessions.id', 'desc').limit(page.limit)
  return (page.before === undefined ? query : query.where('sessions.id', '<', page.before)).execute()
}

export async function countMatching(db: Db, filter: SessionFilter): Promise<number> {
  const { total } = await db
    .selectFrom('sessions')
    .select(eb => eb.fn.countAll<number>().as('total'))
    .where(matching(filter))
    .executeTakeFirstOrThrow()
  return total
}

function matching(filter: SessionFilter) {
  return (eb: ExpressionBuilder<Database, 'sessions'>) =>
    eb.and([
      ...(filter.visible === undefined
        ? []
        : [
            eb.or([
              eb('sessions.owner_id', '=', filter.visible.ownerId),
              ...(filter.visible.domain === undefined ? [] : [eb('sessions.domain', '=', filter.visible.domain)]),
            ]),
          ]),
      ...(filter.ids === undefined ? [] : [eb('sessions.id', 'in', filter.ids)]),
      ...(filter.ownerId === undefined ? [] : [eb('sessions.owner_id', '=', filter.ownerId)]),
      ...(filter.domain === undefined ? [] : [eb('sessions.domain', '=', filter.domain)]),
      ...(filter.groupId === undefined ? [] : [eb('sessions.group_id', '=', filter.groupId)]),
      ...(filter.statuses === undefined ? [] : [eb('sessions.status', 'in', filter.statuses)]),
      ...(filter.name === undefined ? [] : [eb('sessions.name', '=', filter.name)]),
    ])
}

export interface SessionChange {
  readonly status: SessionStatus
  readonly reason: Reason
  readonly attempt?: number
  readonly failedAgents?: readonly AgentId[]
  /** When the session started: ISO 8601, or `now` for the database's time. */
  readonly started?: string
  readonly ended?: boolean
}

/** @returns the new version */
export async function updateSession(db: Db, id: SessionId, change: SessionChange): Promise<number> {
  const startedAt =
    change.started === 'now'
      ? sql<Date>`now()`
      : sql<Date>`least(now(), greatest(created_at, ${change.started}::timestamptz))`
  const row = await db
    .updateTable('sessions')
    .set({
      status: change.status,
      reason: JSON.stringify(change.reason),
      status_at: sql`now()`,
      version: sql`version + 1`,
      ...(change.attempt === undefined ? {} : { attempt: change.attempt }),
      ...(change.failedAgents === undefined ? {} : { failed_agents: JSON.stringify(change.failedAgents) }),
      ...(change.started === undefined
        ? {}
        : {
            started_at: startedAt,
            expires_at: sql`${startedAt} + max_lifetime_seconds * interval '1 second'`,
          }),
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
 * Locks rows of `sessions` that one statement writes in the order of their ids, as placements do. Two statements that lock
 * the same rows in different orders would deadlock.
 *
 * @returns a CTE named `locked`, to be joined by id. The statement must repeat the condition `where`, because rows may have
 *   changed while it waited for their locks
 */
export function lockedSessions(ids: readonly SessionId[], where: RawBuilder<unknown> = sql`true`): RawBuilder<unknown> {
  return sql`locked as materialized (
      select id from sessions where id = any(${ids}::uuid[]) and ${where} order by id for update
    )`
}

/** Increments the version without a transition: something else that the view shows has changed. */
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

/** Sets new reasons without a transition, for sessions that still have this status. */
export async function updateReasons(
  db: Db,
  status: SessionStatus,
  reasons: ReadonlyMap<SessionId, Reason>,
): Promise<Touched[]> {
  if (reasons.size === 0) return []
  const texts = [...reasons.values()].map(reason => JSON.stringify(reason))
  // Locked as in `lockedSessions`, but with the reasons joined in the same CTE: there may be ten thousand sessions.
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

/** Resource groups with pending sessions, or with a reservation (perhaps of a session that is not pending any more). */
export async function listGroupsToSchedule(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .select('resource_group')
    .where('status', '=', 'PENDING')
    .union(db.selectFrom('reservations').select('resource_group'))
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
  'keypair',
  'group_id',
  'domain',
  'cluster_size',
  'priority',
  'max_lifetime_seconds',
] as const
/** A pending session with only the columns that scheduling needs; there may be ten thousand rows. */
export type QueuedRow = Pick<SessionRow, (typeof QUEUED)[number]> & {
  /** Agent with the home directory that the session continues with. */
  readonly files_on: AgentId | null
}

export async function listPending(db: Db, resourceGroup: string): Promise<QueuedRow[]> {
  return db
    .selectFrom('sessions')
    .select(QUEUED)
    .select(eb =>
      eb.selectFrom('kernels').select('agent_id').whereRef('kernels.id', '=', 'sessions.files_of').as('files_on'),
    )
    .where('resource_group', '=', resourceGroup)
    .where('status', '=', 'PENDING')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** A session in a transitional status, with how long that has lasted by the database's clock. */
export interface Overdue {
  /** The database's clock at the time of reading. */
  readonly nowMs: number
  readonly sessionId: SessionId
  readonly kernelIds: readonly KernelId[]
  readonly status: SessionStatus
  readonly agentId: AgentId | null
  readonly attempt: number
  readonly ageMs: number
  /**
   * True if the agent has given up this attempt by itself: every `start_by` has passed, and no kernel of a session with
   * several kernels runs. (An agent keeps running kernels while others of their session start.)
   */
  readonly startByPassed: boolean
  readonly reason: Reason
}

export async function listTransitional(db: Db, minAgeMs: number): Promise<Overdue[]> {
  const { rows } = await sql<Overdue>`
    select s.id as "sessionId", array(select o.id from kernels o where o.session_id = s.id) as "kernelIds", s.status, k.agent_id as "agentId", k.attempt, s.reason,
           (extract(epoch from now()) * 1000)::bigint as "nowMs",
           (extract(epoch from now() - s.status_at) * 1000)::bigint as "ageMs",
           not exists (
             select 1 from kernels o
             where o.session_id = s.id and (o.start_by >= now() or (s.cluster_size > 1 and o.status = 'RUNNING'))
           ) as "startByPassed"
    from sessions s join kernels k on k.session_id = s.id and k.role = 'main1'
    where s.status in ('SCHEDULED', 'PREPARING', 'PULLING', 'TERMINATING')
      and s.status_at <= now() - ${minAgeMs} * interval '1 millisecond'`.execute(db)
  return rows
}

/** @param resourceGroups only sessions in these groups; all if left out */
export async function countSessions(
  db: Db,
  resourceGroups?: ReadonlySet<string>,
): Promise<{ running: number; pending: number }> {
  const rows = await db
    .selectFrom('sessions')
    .select(['status', eb => eb.fn.countAll<number>().as('count')])
    .where('status', 'in', LIVE_STATUSES)
    .$if(resourceGroups !== undefined, query =>
      query.where('resource_group', '=', sql<string>`any(${[...(resourceGroups ?? [])]}::text[])`),
    )
    .groupBy('status')
    .execute()
  const count = (status: SessionStatus) => rows.find(row => row.status === status)?.count ?? 0
  return { running: count('RUNNING'), pending: count('PENDING') }
}

/** Serialises everything that gives out or occupies capacity of a resource group, until the transaction ends. */
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

export interface KernelOwner {
  readonly sessionId: SessionId
  readonly ownerId: UserId
  readonly domain: string
  readonly agentId: AgentId | null
  readonly role: string
  /** Status of the session. */
  readonly status: SessionStatus
  /** All kernels of the session. */
  readonly siblings: readonly KernelId[]
}

export async function findSessionOfKernel(db: Db, kernelId: KernelId): Promise<KernelOwner | undefined> {
  const row = await db
    .selectFrom('kernels')
    .innerJoin('sessions', 'sessions.id', 'kernels.session_id')
    .select([
      'sessions.id',
      'sessions.owner_id',
      'sessions.domain',
      'sessions.status',
      'kernels.agent_id',
      'kernels.role',
    ])
    .select(sql<KernelId[]>`array(select o.id from kernels o where o.session_id = sessions.id)`.as('siblings'))
    .where('kernels.id', '=', kernelId)
    .executeTakeFirst()
  if (!row) return undefined
  const { id: sessionId, owner_id: ownerId, domain, agent_id: agentId, role, status, siblings } = row
  return { sessionId, ownerId, domain, agentId, role, status, siblings }
}
