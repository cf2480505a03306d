import { sql } from 'kysely'
import { type AgentId, type KernelId, OCCUPYING_STATUSES, type SessionId, type UserId } from '#manager/contract'
import { type Db } from '../schema.ts'
import { lockedSessions, type Touched } from './touches.ts'

/** A running session with an idle timeout, an end of its lifetime or of its job in Slurm. Durations are by the database's clock. */
export interface MortalSession {
  /** The database's clock at the time of reading. */
  readonly nowMs: number
  readonly startedAtMs: number | null
  readonly id: SessionId
  readonly ownerId: UserId
  readonly idleTimeoutSeconds: number | null
  readonly maxLifetimeSeconds: number | null
  /** How long the session has been idle; null while it is busy. */
  readonly idleForMs: number | null
  readonly idleSince: Date | null
  readonly expiresInMs: number | null
  readonly expiresAt: Date | null
  readonly slurmEndsInMs: number | null
  /** Running kernels; null if there are none. */
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
           (extract(epoch from s.slurm_ends_at - now()) * 1000)::bigint as "slurmEndsInMs",
           jsonb_agg(jsonb_build_object('id', k.id, 'agentId', k.agent_id)) filter (where k.id is not null) as kernels
    from sessions s left join kernels k on k.session_id = s.id and k.status = 'RUNNING'
    where s.status = 'RUNNING' and num_nonnulls(s.idle_timeout_seconds, s.expires_at, s.slurm_ends_at) > 0
    group by s.id`.execute(db)
  return rows
}

/** Stops the idle clocks of sessions that are busy. */
export async function stopIdleClocks(db: Db, ids: readonly SessionId[]): Promise<void> {
  if (ids.length === 0) return
  await sql`
    with ${lockedSessions(ids, sql`idle_since is not null`)}
    update sessions s set idle_since = null, idle_seen_at = null
    from locked where s.id = locked.id and s.idle_since is not null`.execute(db)
}

/**
 * Records that these sessions are idle. A stopped idle clock starts. A running one is moved forward by gaps without
 * observation (no manager ran, or the agent was away) of more than `gapMs`, because the session may have been busy then.
 * A row is written at most once in `seenEveryMs` (twice a minute).
 *
 * @returns the idle time of each session whose row was written
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

/** Limits by the policies of the user and of the keypair, and by the budget of the access token, the strictest of them. Seconds; null = unlimited. */
export interface LifetimeLimits {
  readonly idleTimeoutSeconds: number | null
  readonly maxLifetimeSeconds: number | null
}

/** The owner of a session, and what it was launched with. */
interface LimitedBy {
  readonly userId: UserId
  readonly keypair?: string | null
  readonly tokenId?: string | null
}

export async function readLifetimeLimits(
  db: Db,
  { userId, keypair = null, tokenId = null }: LimitedBy,
): Promise<LifetimeLimits> {
  const { rows } = await sql<LifetimeLimits>`
    select min(idle_timeout_seconds) as "idleTimeoutSeconds",
      least(min(max_lifetime_seconds), (select session_seconds from logins where id = ${tokenId}::uuid)) as "maxLifetimeSeconds"
    from resource_policies
    where name in (select resource_policy from users where id = ${userId})
       or name in (select resource_policy from keypairs where access_key = ${keypair})`.execute(db)
  return rows[0] ?? { idleTimeoutSeconds: null, maxLifetimeSeconds: null }
}

/**
 * Whether resources of this session are reserved for a pending session, which relies on the time at which this session ends: one of the
 * devices, or CPU or RAM if the agent does not have enough free.
 */
export async function isPromised(db: Db, id: SessionId): Promise<boolean> {
  const occupying = sql.join(OCCUPYING_STATUSES)
  const { rows } = await sql`
    select 1 from reservations r
    join sessions w on w.id = r.session_id and w.status = 'PENDING'
    cross join jsonb_to_recordset(coalesce(r.parts, jsonb_build_array(jsonb_build_object(
      'agentId', r.agent_id, 'kernels', w.cluster_size, 'devices', r.devices
    )))) as part ("agentId" uuid, kernels int, devices jsonb)
    join agents a on a.id = part."agentId"
    join kernels k on k.agent_id = a.id and k.session_id = ${id} and k.status in (${occupying})
    where exists (
      select 1 from kernel_devices d, jsonb_to_recordset(part.devices) as held (uuid text)
      where d.kernel_id = k.id and d.uuid = held.uuid
    ) or exists (
      select 1 from jsonb_each_text(w.requested) as needed (slot, amount)
      where slot in ('cpu', 'mem') and (k.slots ->> slot)::bigint > 0
        and amount::bigint * part.kernels > (a.capacity ->> slot)::bigint - (
          select sum((o.slots ->> slot)::bigint) from kernels o
          where o.agent_id = a.id and o.status in (${occupying})
        )
    ) limit 1`.execute(db)
  return rows.length > 0
}

/** Sets a new end of the lifetime and resets the idle clock; the next observation of the session starts it again. */
export async function extendLifetime(db: Db, id: SessionId, expiresAt: Date | null): Promise<Touched> {
  const row = await db
    .updateTable('sessions')
    .set({ idle_since: null, idle_seen_at: null, expires_at: expiresAt, version: sql`version + 1` })
    .where('id', '=', id)
    .returning(['id', 'owner_id as ownerId', 'domain', 'version'])
    .executeTakeFirstOrThrow()
  return row
}
