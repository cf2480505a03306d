import { sql } from 'kysely'
import { type ResourceGroupOptions, type SessionId, type SessionStatus } from '#manager/contract'
import { type UserRow } from '../identity/users.ts'
import { type Db } from '../schema.ts'
import { type GrantIdentity } from '../tables/scheduling.ts'
import { lockedSessions, type Touched } from './touches.ts'

/** A resource group whose engine is not Berth. */
export interface AllocatedGroup {
  readonly name: string
  readonly options: ResourceGroupOptions
}

export async function listAllocatedGroups(db: Db): Promise<AllocatedGroup[]> {
  return db
    .selectFrom('resource_groups')
    .select(['name', 'options'])
    .where('engine', '=', 'slurm')
    .orderBy('name')
    .execute()
}

/** Whether an allocation was requested for any session that is still known. */
export async function hasAllocations(db: Db): Promise<boolean> {
  return (await db.selectFrom('allocations').select('name').limit(1).executeTakeFirst()) !== undefined
}

/** All users of the engine as whom allocations were ever requested. */
export async function listEngineUsers(db: Db): Promise<Set<string>> {
  const rows = await db.selectFrom('engine_users').select('name').execute()
  return new Set(rows.map(({ name }) => name))
}

/** Owners of waiting sessions of the group, by session. */
export async function listWaitingOwners(
  db: Db,
  resourceGroup: string,
): Promise<Map<SessionId, Pick<UserRow, 'email' | 'password_set' | 'password_from'>>> {
  const rows = await db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.owner_id')
    .select(['s.id', 'u.email', 'u.password_set', 'u.password_from'])
    .where('s.resource_group', '=', resourceGroup)
    .where('s.status', '=', 'PENDING')
    .execute()
  return new Map(rows.map(({ id, ...owner }) => [id, owner]))
}

/** A session that has not ended, with its last request for an allocation. */
export interface AllocatedSession {
  readonly id: SessionId
  readonly status: SessionStatus
  readonly resourceGroup: string
  /** Number of nodes of its allocation. */
  readonly nodes: number
  /** End of its job as the session shows it. */
  readonly slurmEndsAt: Date | null
  /** Whether it continues on another allocation if the engine takes this one away. */
  readonly isInterruptible: boolean
  /** Time at which it is stopped to continue, as it was announced. */
  readonly interruptAt: Date | null
  /** Null: no allocation was requested for it. */
  readonly request: {
    readonly run: number
    readonly name: string
    readonly user: string | null
    readonly askedAgoMs: number
    readonly granted: GrantIdentity | null
  } | null
}

/** Live sessions of these groups, and all live sessions with a request, in whatever group. */
export async function listAllocatedSessions(db: Db, groups: readonly string[]): Promise<AllocatedSession[]> {
  const rows = await db
    .selectFrom('sessions as s')
    .leftJoin('allocations as a', 'a.session_id', 's.id')
    .select(['s.id', 's.status', 's.resource_group as resourceGroup', 's.slurm_ends_at as slurmEndsAt'])
    .select(['s.interruptible as isInterruptible', 's.interrupt_at as interruptAt'])
    .select(['a.run', 'a.name', 'a.engine_user as user', 'a.granted'])
    .select(sql<number | null>`(extract(epoch from now() - a.asked_at) * 1000)::float8`.as('askedAgoMs'))
    .select(sql<number>`case s.cluster_mode when 'multi-host' then s.cluster_size else 1 end`.as('nodes'))
    .where('s.status', 'not in', ['TERMINATED', 'CANCELLED', 'ERROR'])
    .where(eb => eb.or([...groups.map(name => eb('s.resource_group', '=', name)), eb('a.name', 'is not', null)]))
    .orderBy('s.created_at')
    .orderBy('s.id')
    .execute()
  return rows.map(({ run, name, user, askedAgoMs, granted, ...session }) => ({
    ...session,
    request: run === null || name === null ? null : { run, name, user, askedAgoMs: askedAgoMs ?? 0, granted },
  }))
}

/**
 * Records that an allocation is about to be requested: the next one after `run`, or the first one.
 *
 * @returns false if another manager was faster, or the session waits no more: then nothing may be requested
 */
export async function recordRequest(
  db: Db,
  {
    sessionId,
    run,
    name,
    user,
  }: Pick<NonNullable<AllocatedSession['request']>, 'run' | 'name' | 'user'> & {
    readonly sessionId: SessionId
  },
): Promise<boolean> {
  const { rows } = await sql<{ run: number }>`
    with known as (
      insert into engine_users (name) select ${user}::text where ${user}::text is not null on conflict do nothing
    )
    insert into allocations (session_id, run, name, engine_user)
    select id, ${run}, ${name}, ${user} from sessions where id = ${sessionId} and status = 'PENDING'
    on conflict (session_id) do update set run = excluded.run, name = excluded.name, engine_user = excluded.engine_user,
      asked_at = now(), granted = null
      where allocations.run = excluded.run - 1
    returning run`.execute(db)
  return rows.length > 0
}

/** Records on which grant the session of this request runs. */
export async function recordGrant(db: Db, name: string, granted: GrantIdentity): Promise<void> {
  await db
    .updateTable('allocations')
    .set({ granted: JSON.stringify(granted) })
    .where('name', '=', name)
    .execute()
}

/** Sets when Slurm ends the job of a session, which has been placed on it. */
export async function setSlurmEnd(db: Db, id: SessionId, endsAt: Date | null): Promise<Touched[]> {
  const { rows } = await sql<Touched>`
    with ${lockedSessions([id], sql`status not in ('PENDING', 'TERMINATED', 'CANCELLED', 'ERROR')`)}
    update sessions s set slurm_ends_at = ${endsAt?.toISOString() ?? null}::timestamptz, version = s.version + 1
    from locked where s.id = locked.id
    returning s.id, s.owner_id as "ownerId", s.domain, s.version`.execute(db)
  return rows
}

/** The grant on which the session runs. */
export async function findGrant(db: Db, id: SessionId): Promise<GrantIdentity | undefined> {
  const row = await db.selectFrom('allocations').select('granted').where('session_id', '=', id).executeTakeFirst()
  return row?.granted ?? undefined
}
