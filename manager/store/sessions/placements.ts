import { sql } from 'kysely'
import {
  type AgentId,
  clusterRoles,
  type GroupId,
  type KernelId,
  OCCUPYING_STATUSES,
  type Reason,
  type ResourceSlots,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type Db } from '../schema.ts'
import { type Touched } from './touches.ts'

/** Locks these sessions as far as they are still PENDING until the transaction ends, always in the order of their ids. */
export async function lockPending(db: Db, ids: readonly SessionId[]): Promise<Set<SessionId>> {
  const rows = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', 'in', ids)
    .where('status', '=', 'PENDING')
    .orderBy('id')
    .forUpdate()
    .execute()
  return new Set(rows.map(row => row.id))
}

export interface PlacedSession {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  /** The agent of each kernel, the main one first; left out if all are on one agent. */
  readonly hosts?: readonly AgentId[]
  readonly reason: Reason
}

export interface PlacedRows {
  readonly touched: readonly Touched[]
  /** Kernels of each session, the main one first. */
  readonly kernelsOf: ReadonlyMap<SessionId, readonly KernelId[]>
}

/** Moves all of them from PENDING to SCHEDULED, each with its next attempt. `lockPending` must have locked the rows. */
export async function markScheduled(db: Db, placed: readonly PlacedSession[]): Promise<PlacedRows> {
  const ids = placed.map(({ sessionId }) => sessionId)
  const reasons = placed.map(({ reason }) => JSON.stringify(reason))
  // A session that was on several hosts before may be on one now, and another one may have its number.
  const sessions = await sql<Touched & { networkBefore: number | null }>`
    update sessions s
    set status = 'SCHEDULED', status_at = now(), reason = v.reason, attempt = s.attempt + 1, version = s.version + 1,
      cluster_network = null
    from (select unnest(${ids}::uuid[]) as id, unnest(${reasons}::text[])::jsonb as reason) v
      join sessions before on before.id = v.id
    where s.id = v.id
    returning s.id, s.owner_id as "ownerId", s.domain, s.version, before.cluster_network as "networkBefore"`.execute(db)
  const agents = placed.map(({ agentId }) => agentId)
  const kernels = await sql<{ session_id: SessionId; kernel_id: KernelId; role: string }>`
    update kernels k set status = 'SCHEDULED', agent_id = v.agent_id, attempt = s.attempt, start_by = null, ended_at = null
    from (select unnest(${ids}::uuid[]) as id, unnest(${agents}::uuid[]) as agent_id) v join sessions s on s.id = v.id
    where k.session_id = v.id
    returning k.session_id, k.id as kernel_id, k.role`.execute(db)
  await placeOnHosts(db, placed, new Map(sessions.rows.map(({ id, networkBefore }) => [id, networkBefore])))
  const kernelsOf = new Map<SessionId, KernelId[]>()
  for (const { session_id, kernel_id } of kernels.rows.toSorted(byRole)) {
    const own = kernelsOf.get(session_id)
    if (own) own.push(kernel_id)
    else kernelsOf.set(session_id, [kernel_id])
  }
  return { touched: sessions.rows.map(({ networkBefore: _, ...touched }) => touched), kernelsOf }
}

/** Number of networks between hosts: a /28 each of 10.212.0.0/16. */
export const NETWORKS = 4096

/**
 * Number of sessions over several hosts that can be placed beside those that hold a network. One network is never given away, so that each
 * session can get another one than in its attempt before.
 */
export async function countFreeClusterNetworks(db: Db): Promise<number> {
  const { rows } = await sql<{ used: number }>`
    select count(distinct cluster_network)::int as used from sessions
    where cluster_network is not null and status in (${sql.join(OCCUPYING_STATUSES)})`.execute(db)
  return Math.max(0, NETWORKS - 1 - (rows[0]?.used ?? 0))
}

/** Serialises everything that takes a network between hosts, until the transaction ends: groups are scheduled by several managers at a time. */
export async function lockClusterNetworks(db: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('berth:cluster-networks', 0))`.execute(db)
}

/**
 * Places the kernels of sessions over several hosts, and gives each of these sessions a network that no other one has. The caller has checked
 * that there are enough.
 * @param before the number that each session had in its attempt before
 */
async function placeOnHosts(
  db: Db,
  placed: readonly PlacedSession[],
  before: ReadonlyMap<SessionId, number | null>,
): Promise<void> {
  const gangs = placed.filter(({ hosts }) => hosts !== undefined)
  if (gangs.length === 0) return
  const rows = gangs.flatMap(({ sessionId, hosts = [] }) =>
    clusterRoles(hosts.length).map((role, index) => ({ sessionId, role, agentId: hosts[index] ?? null })),
  )
  await sql`
    update kernels k set agent_id = v.agent_id
    from (select unnest(${rows.map(({ sessionId }) => sessionId)}::uuid[]) as session_id,
      unnest(${rows.map(({ role }) => role)}::text[]) as role, unnest(${rows.map(({ agentId }) => agentId)}::uuid[]) as agent_id) v
    where k.session_id = v.session_id and k.role = v.role`.execute(db)
  await lockClusterNetworks(db)
  for (const { sessionId } of gangs) {
    // The number that was used least recently: a host that was away may still have the network of an earlier session or attempt.
    await sql`
      update sessions set cluster_network = (
        select n from generate_series(0, ${NETWORKS - 1}) n
        left join (select cluster_network, max(status_at) as used_at from sessions
          where cluster_network is not null group by cluster_network) used on used.cluster_network = n
        where n is distinct from ${before.get(sessionId) ?? null}::int
          and not exists (select from sessions o where o.cluster_network = n and o.status in (${sql.join(OCCUPYING_STATUSES)}))
        order by used.used_at nulls first, n limit 1)
      where id = ${sessionId}`.execute(db)
  }
}

/** Keeps the number of a network that runs already for its session, unless another session has it. */
export async function keepClusterNetwork(db: Db, id: SessionId, network: number): Promise<void> {
  await sql`
    update sessions set cluster_network = ${network}
    where id = ${id} and ${network}::int between 0 and ${NETWORKS - 1}
      and not exists (select from sessions o where o.cluster_network = ${network} and o.status in (${sql.join(OCCUPYING_STATUSES)}))`.execute(
    db,
  )
}

/** Orders kernels by role: main1, sub1, sub2, …, sub10. */
function byRole({ role: a }: { role: string }, { role: b }: { role: string }): number {
  if (a === b) return 0
  if (a === 'main1' || b === 'main1') return a === 'main1' ? -1 : 1
  return a.length - b.length || (a < b ? -1 : 1)
}

/** Resources that the sessions of each user in each project hold in a resource group now: sums over occupying kernels, never a counter. */
export async function readHoldings(
  db: Db,
  resourceGroup: string,
): Promise<{ ownerId: UserId; projectId: GroupId | null; slots: ResourceSlots }[]> {
  const { rows } = await sql<{ ownerId: UserId; projectId: GroupId | null; slots: ResourceSlots }>`
    select "ownerId", "projectId", jsonb_object_agg(slot, amount) as slots from (
      select s.owner_id as "ownerId", s.group_id as "projectId", v.key as slot, sum(v.value::bigint)::bigint as amount
      from sessions s join kernels k on k.session_id = s.id, jsonb_each_text(k.slots) v
      where s.resource_group = ${resourceGroup} and k.status in (${sql.join(OCCUPYING_STATUSES)})
      group by s.owner_id, s.group_id, v.key
    ) as sums group by "ownerId", "projectId"`.execute(db)
  return rows
}
