import { sql } from 'kysely'
import { type AgentId, type KernelId, OCCUPYING_STATUSES, type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { lockedSessions, type Touched } from './sessions.ts'

/** A running session that something may end. Ages and times left are by the database's clock. */
export interface MortalSession {
  /** The database's clock at the time of reading. */
  readonly nowMs: number
  readonly startedAtMs: number | null
  readonly id: SessionId
  readonly ownerId: UserId
  readonly idleTimeoutSeconds: number | null
  readonly maxLifetimeSeconds: number | null
  /** Null while something happens in it. */
  readonly idleForMs: number | null
  readonly idleSince: Date | null
  readonly expiresInMs: number | null
  readonly expiresAt: Date | null
  /** Those that have not done their work yet; null without any. */
  readonly kernels: readonly { readonly id: KernelId; readonly agentId: AgentId | null }[] | null
}

export async function listMortal(db: Db): Promise<MortalSession[]> {
  const { rows } = await sql<MortalSession>`
    select s.id, s.owner_id as "ownerId", (extract(epoch from now()) * 1000)::bigint as "nowMs",
           (extract(epoch from s.started_at) * 1000)::bigint as "startedAtMs", s.idle_timeout_seconds as "idleTimeoutSeconds",
           s.max_lifetime_seconds as "maxLifetimeSeconds",
           (extract(epoch from now() - s.idle_since) * 1000)::bigint as "idleForMs",
           s.idle_since as "idleSince", s.expires_at as "expiresAt",
           (extract(epoch from s.expires_at - now()) * 1000)::bigint as "expiresInMs",
           jsonb_agg(jsonb_build_object('id', k.id, 'agentId', k.agent_id)) filter (where k.id is not null) as kernels
    from sessions s left join kernels k on k.session_id = s.id and k.status = 'RUNNING'
    where s.status = 'RUNNING' and (s.idle_timeout_seconds is not null or s.expires_at is not null)
    group by s.id`.execute(db)
  return rows
}

/** Something happens in these: their idle clocks stop. */
export async function stopIdleClocks(db: Db, ids: readonly SessionId[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    with ${lockedSessions(ids, sql`idle_since is not null`)}
    update sessions s set idle_since = null, idle_seen_at = null
    from locked where s.id = locked.id and s.idle_since is not null`.execute(db)
}

/**
 * Nothing happens in these. A clock that stands starts; from one that runs is taken the time in which nobody looked (no
 * manager ran, or the agent was away), which may have been a busy one. Rows are written twice a minute at most.
 *
 * @returns of each that was written, how long it has been idle
 */
export async function runIdleClocks(
  db: Db,
  ids: readonly SessionId[],
  { seenEveryMs, gapMs }: { seenEveryMs: number; gapMs: number },
): Promise<Map<SessionId, Pick<MortalSession, 'idleForMs' | 'idleSince'>>> {
  if (ids.length === 0) return new Map()
  const isDue = sql`status = 'RUNNING' and (idle_since is null or idle_seen_at is null
    or idle_seen_at < now() - ${seenEveryMs} * interval '1 millisecond')`
  const { rows } = await sql<Pick<MortalSession, 'id' | 'idleForMs' | 'idleSince'>>`
    with ${lockedSessions(ids, isDue)}
    update sessions s set
      idle_since = case
        when idle_since is null then now()
        when idle_seen_at < now() - ${gapMs} * interval '1 millisecond' then idle_since + (now() - idle_seen_at)
        else idle_since
      end,
      idle_seen_at = now()
    from locked where s.id = locked.id and ${isDue}
    returning s.id, idle_since as "idleSince", (extract(epoch from now() - idle_since) * 1000)::bigint as "idleForMs"`.execute(
    db,
  )
  return new Map(rows.map(row => [row.id, row]))
}

/** What the policies of the user and of the keypair say, the stricter of the two. Seconds; null = unlimited. */
export interface LifetimeLimits {
  readonly idleTimeoutSeconds: number | null
  readonly maxLifetimeSeconds: number | null
}

export async function readLifetimeLimits(db: Db, userId: UserId, keypair: string | null): Promise<LifetimeLimits> {
  const { rows } = await sql<LifetimeLimits>`
    select min(idle_timeout_seconds) as "idleTimeoutSeconds", min(max_lifetime_seconds) as "maxLifetimeSeconds"
    from resource_policies
    where name in (select resource_policy from users where id = ${userId})
       or name in (select resource_policy from keypairs where access_key = ${keypair})`.execute(db)
  return rows[0] ?? { idleTimeoutSeconds: null, maxLifetimeSeconds: null }
}

/**
 * Whether something of what the session holds is held for another one, which counts on when this one ends: one of the
 * devices, or CPU or RAM of which the agent has not enough left.
 */
export async function isPromised(db: Db, id: SessionId): Promise<boolean> {
  const occupying = sql.join(OCCUPYING_STATUSES)
  const { rows } = await sql`
    select 1 from reservations r
    join sessions w on w.id = r.session_id and w.status = 'PENDING'
    join agents a on a.id = r.agent_id
    join kernels k on k.agent_id = r.agent_id and k.session_id = ${id} and k.status in (${occupying})
    where exists (
      select 1 from kernel_devices d, jsonb_to_recordset(r.devices) as held (uuid text)
      where d.kernel_id = k.id and d.uuid = held.uuid
    ) or exists (
      select 1 from jsonb_each_text(w.requested) as needed (slot, amount)
      where slot in ('cpu', 'mem') and (k.slots ->> slot)::bigint > 0
        and amount::bigint * w.cluster_size > (a.capacity ->> slot)::bigint - (
          select sum((o.slots ->> slot)::bigint) from kernels o
          where o.agent_id = a.id and o.status in (${occupying})
        )
    ) limit 1`.execute(db)
  return rows.length > 0
}

/** The idle clock stops (a look at the session starts it again), and the lifetime ends then. */
export async function extendLifetime(db: Db, id: SessionId, expiresAt: Date | null): Promise<Touched> {
  const row = await db
    .updateTable('sessions')
    .set({ idle_since: null, idle_seen_at: null, expires_at: expiresAt, version: sql`version + 1` })
    .where('id', '=', id)
    .returning(['id', 'owner_id as ownerId', 'domain', 'version'])
    .executeTakeFirstOrThrow()
  return row
}
