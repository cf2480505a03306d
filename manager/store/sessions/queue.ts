import { sql } from 'kysely'
import { type AgentId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type SessionRow } from './sessions.ts'

/**
 * Resource groups with pending sessions, a reservation or an interruption (perhaps for a session that is not pending any more). Groups
 * with another engine than Berth are left out: see `manager/allocators`.
 */
export async function listGroupsToSchedule(db: Db): Promise<string[]> {
  const elsewhere = db.selectFrom('resource_groups').select('name').where('engine', '<>', 'berth')
  const named = db
    .selectFrom('sessions')
    .select('resource_group')
    .where('status', '=', 'PENDING')
    .union(db.selectFrom('reservations').select('resource_group'))
    .union(db.selectFrom('interruptions').select('resource_group'))
  const rows = await db
    .selectFrom(named.as('named'))
    .select('resource_group')
    .where('resource_group', 'not in', elsewhere)
    .execute()
  return rows.map(row => row.resource_group)
}

const QUEUED = [
  'id',
  'owner_id',
  'created_at',
  'requested',
  'gpu',
  'slurm',
  'image',
  'image_digest',
  'failed_agents',
  'reason',
  'keypair',
  'group_id',
  'domain',
  'cluster_size',
  'cluster_mode',
  'allowed_names',
  'priority',
  'max_lifetime_seconds',
  'starts_at',
  'interruptible',
] as const
/** A pending session with only the columns that scheduling needs; there may be ten thousand rows. */
export type QueuedRow = Pick<SessionRow, (typeof QUEUED)[number]> & {
  /** Agent that has the home directory for the session to continue with. */
  readonly files_on: AgentId | null
}

const FILES_ON = sql<AgentId | null>`case when interruptions > 0
  then (select p.agent_id from kernels k join past_kernels p on p.kernel_id = k.files_of
    where k.session_id = sessions.id and k.role = 'main1')
  else (select k.agent_id from kernels k where k.id = sessions.files_of) end`

/** Names of pending sessions that can start only on this agent, because their files are there. */
export async function listWaitingForFiles(db: Db, agentId: AgentId): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .select('name')
    .where('status', '=', 'PENDING')
    .where(FILES_ON, '=', agentId)
    .orderBy('name')
    .execute()
  return rows.map(({ name }) => name)
}

export async function listPending(db: Db, resourceGroup: string): Promise<QueuedRow[]> {
  return db
    .selectFrom('sessions')
    .select(QUEUED)
    .select(FILES_ON.as('files_on'))
    .where('resource_group', '=', resourceGroup)
    .where('status', '=', 'PENDING')
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}
