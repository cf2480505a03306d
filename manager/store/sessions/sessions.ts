import { type Insertable, sql, type Selectable } from 'kysely'
import { type Complete, defined } from '#base/defined'
import {
  type App,
  type AgentId,
  type ClusterMode,
  FINISHED_STATUSES,
  type GpuChoice,
  type GroupId,
  type KernelId,
  LIVE_STATUSES,
  type Reason,
  type ResourceSlots,
  type SessionId,
  type SessionKind,
  type SessionPermission,
  type SessionStatus,
  type SlurmChoice,
  type UserId,
} from '#manager/contract'
import { type Db } from '../schema.ts'
import { type SessionsTable } from '../tables/sessions.ts'

export type SessionRow = Selectable<SessionsTable>
/**
 * A session with the data of its owner and project that views and access rules need. It contains only the names of its variables: lists
 * have hundreds of rows, and the values may be 64 KiB each.
 */
export type OwnedSessionRow = Omit<SessionRow, 'environ'> & {
  environ_names: string[]
  owner_email: string
  owner_ssh_public_key: string | null
  group_name: string | null
  /** Rights of members of the project, by their ids; null if the session is not shared. */
  shares: Readonly<Record<UserId, SessionPermission>> | null
  /** The database's clock at the time of reading. Compare times of rows with this clock only. */
  now: Date
}

/** Facts of a session by which access rules decide who may see and use it. */
export function ownedOf({
  owner_id: ownerId,
  domain,
  shares,
  token_id: tokenId,
  launched_by: launchedBy,
  admins_may_read: adminsMayRead,
}: Pick<OwnedSessionRow, 'owner_id' | 'domain' | 'shares' | 'token_id' | 'launched_by' | 'admins_may_read'>) {
  return { ownerId, domain, shares, tokenId, launchedBy, adminsMayRead }
}

/** A session to insert. No field is optional, so that all code that creates sessions must decide about a new field. */
export interface NewSession {
  readonly id: SessionId
  readonly name: string
  readonly ownerId: UserId
  /** Access key of the signed request that created the session; null: the request was not signed. */
  readonly keypair: string | null
  /** E-mail address of the administrator who launches it for the owner; null: the owner launches it. */
  readonly launchedBy: string | null
  /** Access token that launches it; null: none. */
  readonly tokenId: string | null
  readonly domain: string
  /** The group (project) towards whose limits it counts. */
  readonly groupId: GroupId | null
  readonly status: SessionStatus
  readonly reason: Reason
  readonly resourceGroup: string
  readonly image: string
  readonly imageDigest: string | null
  readonly requested: ResourceSlots
  /** The GPUs that it accepts; null for any. */
  readonly gpu: GpuChoice | null
  /** Choices of the session in Slurm; null for none. */
  readonly slurm: SlurmChoice | null
  readonly shmemBytes: number
  readonly shmemFromImage: boolean
  readonly environ: Readonly<Record<string, string>>
  readonly startupCommand: string | null
  readonly runImageCommand: boolean
  readonly apps: readonly App[]
  readonly clusterSize: number
  readonly clusterMode: ClusterMode
  /** Names that it may reach; null: everything. */
  readonly allowedNames: readonly string[] | null
  readonly priority: number
  readonly dependsOn: readonly SessionId[]
  readonly kind: SessionKind
  readonly idleTimeoutSeconds: number | null
  readonly maxLifetimeSeconds: number | null
  readonly attempt: number
  /** ISO 8601; null: now, by the database's clock. */
  readonly createdAt: string | null
  /** ISO 8601; null: the session has not started. */
  readonly startedAt: string | null
  /** Ended kernel whose home directory the session continues with. */
  readonly filesOf: KernelId | null
  /** When others could first use the session whose home is continued. */
  readonly filesUsedByOthersAt: Date | null
  /** Time before which the session does not start, ISO 8601. */
  readonly startsAt: string | null
  readonly interruptible: boolean
  readonly tags: readonly string[]
  readonly note: string
}

/** Columns that are set later in a session's life. For a new session, the database sets them. */
type LaterColumn =
  | 'admins_may_read'
  | 'cluster_network'
  | 'failed_agents'
  | 'status_at'
  | 'ended_at'
  | 'expires_at'
  | 'slurm_ends_at'
  | 'idle_since'
  | 'idle_seen_at'
  | 'interrupt_at'
  | 'interruptions'
  | 'gpu_idle_since'
  | 'usage_summed'
  | 'version'

/** Number of waiting sessions of one person. */
export async function countWaiting(db: Db, ownerId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom('sessions')
    .select(eb => eb.fn.countAll<number>().as('count'))
    .where('owner_id', '=', ownerId)
    .where('status', '=', 'PENDING')
    .executeTakeFirstOrThrow()
  return count
}

export async function insertSessions(db: Db, sessions: readonly NewSession[]): Promise<void> {
  await db.insertInto('sessions').values(sessions.map(columnsOf)).execute()
}

/** A column that is neither here nor a `LaterColumn` is a compile error. */
function columnsOf(session: NewSession): Complete<Omit<Insertable<SessionsTable>, LaterColumn>> {
  return {
    id: session.id,
    name: session.name,
    owner_id: session.ownerId,
    keypair: session.keypair,
    launched_by: session.launchedBy,
    token_id: session.tokenId,
    domain: session.domain,
    group_id: session.groupId,
    status: session.status,
    reason: JSON.stringify(session.reason),
    resource_group: session.resourceGroup,
    image: session.image,
    image_digest: session.imageDigest,
    requested: JSON.stringify(session.requested),
    gpu: session.gpu && JSON.stringify(session.gpu),
    slurm: session.slurm && JSON.stringify(session.slurm),
    shmem_bytes: session.shmemBytes,
    shmem_from_image: session.shmemFromImage,
    environ: JSON.stringify(session.environ),
    startup_command: session.startupCommand,
    run_image_command: session.runImageCommand,
    apps: JSON.stringify(session.apps),
    cluster_size: session.clusterSize,
    cluster_mode: session.clusterMode,
    allowed_names: session.allowedNames && JSON.stringify(session.allowedNames),
    priority: session.priority,
    depends_on: JSON.stringify(session.dependsOn),
    kind: session.kind,
    idle_timeout_seconds: session.idleTimeoutSeconds,
    max_lifetime_seconds: session.maxLifetimeSeconds,
    attempt: session.attempt,
    created_at: session.createdAt ?? undefined,
    started_at: session.startedAt,
    files_of: session.filesOf,
    used_by_others_at: session.filesUsedByOthersAt,
    starts_at: session.startsAt,
    interruptible: session.interruptible,
    tags: JSON.stringify(session.tags),
    note: session.note,
  }
}

const SHARES = sql<OwnedSessionRow['shares']>`(
  select jsonb_object_agg(s.user_id, s.permission) from session_shares s where s.session_id = sessions.id)`

const NAMES_OF_VARIABLES = sql<string[]>`array(
  select name from jsonb_object_keys(sessions.environ) name order by name collate "C")`

/** All columns except the values of the variables; a record, so that a new column cannot be forgotten. */
const COLUMNS: Readonly<Record<keyof Omit<SessionsTable, 'environ'>, true>> = {
  id: true,
  name: true,
  owner_id: true,
  status: true,
  reason: true,
  resource_group: true,
  image: true,
  image_digest: true,
  requested: true,
  gpu: true,
  slurm: true,
  slurm_ends_at: true,
  shmem_bytes: true,
  shmem_from_image: true,
  startup_command: true,
  run_image_command: true,
  apps: true,
  attempt: true,
  failed_agents: true,
  created_at: true,
  status_at: true,
  started_at: true,
  ended_at: true,
  keypair: true,
  launched_by: true,
  token_id: true,
  admins_may_read: true,
  used_by_others_at: true,
  domain: true,
  group_id: true,
  kind: true,
  priority: true,
  depends_on: true,
  cluster_size: true,
  cluster_mode: true,
  allowed_names: true,
  cluster_network: true,
  idle_timeout_seconds: true,
  max_lifetime_seconds: true,
  expires_at: true,
  idle_since: true,
  idle_seen_at: true,
  files_of: true,
  starts_at: true,
  interruptible: true,
  interrupt_at: true,
  interruptions: true,
  gpu_idle_since: true,
  usage_summed: true,
  tags: true,
  note: true,
  version: true,
}
const SELECTED = (Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]).map(column => `sessions.${column}` as const)

/** Selects sessions with the columns that `OwnedSessionRow` adds, and without the values of their variables. */
export const selectOwned = (db: Db) =>
  db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.owner_id')
    .leftJoin('groups', 'groups.id', 'sessions.group_id')
    .select(SELECTED)
    .select(['users.email as owner_email', 'users.ssh_public_key as owner_ssh_public_key', 'groups.name as group_name'])
    .select([SHARES.as('shares'), NAMES_OF_VARIABLES.as('environ_names')])
    .select(sql<Date>`now()`.as('now'))

export async function findSession(db: Db, id: SessionId): Promise<OwnedSessionRow | undefined> {
  return selectOwned(db).where('sessions.id', '=', id).executeTakeFirst()
}

/** The variables of a session with their values. @returns empty if the session was deleted */
export async function findVariables(db: Db, id: SessionId): Promise<SessionRow['environ']> {
  const row = await db.selectFrom('sessions').select('environ').where('id', '=', id).executeTakeFirst()
  return row?.environ ?? {}
}

/** Oldest first. */
export async function findSessions(db: Db, ids: readonly SessionId[]): Promise<OwnedSessionRow[]> {
  if (ids.length === 0) return []
  return selectOwned(db).where('sessions.id', 'in', ids).orderBy('sessions.id').execute()
}

/** Stores how the agent of the session describes its copy of the image. */
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

/** Whether the user has launched an image without an administrator. */
export async function hasLaunched(db: Db, userId: UserId, image: string): Promise<boolean> {
  const row = await db
    .selectFrom('sessions')
    .select('id')
    .where('owner_id', '=', userId)
    .where('image', '=', image)
    .where('launched_by', 'is', null)
    .where('token_id', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * The session that has taken over the home directory of a kernel, or is about to. A session that ended before it ran has returned the home
 * and does not count.
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

export interface SessionChange {
  readonly status: SessionStatus
  readonly reason: Reason
  readonly attempt?: number
  readonly failedAgents?: readonly AgentId[]
  /** When the session started: ISO 8601, or `now` for the database's time. */
  readonly started?: string
  readonly ended?: boolean
  /** The session is being ended and will not continue, even if its interruption was announced. */
  readonly endsForGood?: boolean
  /** The session's run was interrupted, and another one follows. */
  readonly interrupted?: boolean
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
      ...defined({ attempt: change.attempt }),
      ...(change.failedAgents === undefined ? {} : { failed_agents: JSON.stringify(change.failedAgents) }),
      ...(change.started === undefined
        ? {}
        : {
            started_at: startedAt,
            expires_at: sql`${startedAt} + max_lifetime_seconds * interval '1 second'`,
          }),
      ...(change.ended ? { ended_at: sql`now()` } : {}),
      ...(change.ended || change.endsForGood ? { interrupt_at: null } : {}),
      ...(change.interrupted
        ? {
            interrupt_at: null,
            slurm_ends_at: null,
            interruptions: sql`interruptions + 1`,
            attempt: 0,
            failed_agents: '[]',
            started_at: null,
            expires_at: null,
            idle_since: null,
            idle_seen_at: null,
          }
        : {}),
    })
    .where('id', '=', id)
    .returning('version')
    .executeTakeFirstOrThrow()
  return row.version
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
