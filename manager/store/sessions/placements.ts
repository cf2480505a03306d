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
  const sessions = await sql<Touched>`
    update sessions s
    set status = 'SCHEDULED', status_at = now(), reason = v.reason, attempt = s.attempt + 1, version = s.version + 1
    from (select unnest(${ids}::uuid[]) as id, unnest(${reasons}::text[])::jsonb as reason) v
    where s.id = v.id
    returning s.id, s.owner_id as "ownerId", s.domain, s.version`.execute(db)
  const agents = placed.map(({ agentId }) => agentId)
  const kernels = await sql<{ session_id: SessionId; kernel_id: KernelId; role: string }>`
    update kernels k set status = 'SCHEDULED', agent_id = v.agent_id, attempt = s.attempt, start_by = null, ended_at = null
    from (select unnest(${ids}::uuid[]) as id, unnest(${agents}::uuid[]) as agent_id) v join sessions s on s.id = v.id
    where k.session_id = v.id
    returning k.session_id, k.id as kernel_id, k.role`.execute(db)
  await placeOnHosts(db, placed)
  const kernelsOf = new Map<SessionId, KernelId[]>()
  for (const { session_id, kernel_id } of kernels.rows.toSorted(byRole)) {
    const own = kernelsOf.get(session_id)
    if (own) own.push(kernel_id)
    else kernelsOf.set(session_id, [kernel_id])
  }
  return { touched: sessions.rows, kernelsOf }
}

/** Number of networks between hosts: a /28 each of 10.212.0.0/16. */
const NETWORKS = 4096

/** Places the kernels of sessions over several hosts, and gives each of these sessions a network that no other one has. */
async function placeOnHosts(db: Db, placed: readonly PlacedSession[]): Promise<void> {
  const gangs = placed.filter(({ hosts }) => hosts !== undefined)
  const ids = placed.map(({ sessionId }) => sessionId)
  // A session that was on several hosts before may be on one now.
  await sql`update sessions set cluster_network = null where id = any(${ids}::uuid[]) and cluster_network is not null`.execute(
    db,
  )
  if (gangs.length === 0) return
  const rows = gangs.flatMap(({ sessionId, hosts = [] }) =>
    clusterRoles(hosts.length).map((role, index) => ({ sessionId, role, agentId: hosts[index] ?? null })),
  )
  await sql`
    update kernels k set agent_id = v.agent_id
    from (select unnest(${rows.map(({ sessionId }) => sessionId)}::uuid[]) as session_id,
      unnest(${rows.map(({ role }) => role)}::text[]) as role, unnest(${rows.map(({ agentId }) => agentId)}::uuid[]) as agent_id) v
    where k.session_id = v.session_id and k.role = v.role`.execute(db)
  // Groups are scheduled by several managers at a time.
  await sql`select pg_advisory_xact_lock(hashtextextended('berth:cluster-networks', 0))`.execute(db)
  for (const { sessionId } of gangs) {
    // A number is used again as late as possible: a host that was away may still have its network.
    await sql`
      update sessions set cluster_network = (
        select n from generate_series(0, ${NETWORKS - 1}) n
        where not exists (select from sessions o where o.cluster_network = n and o.status in (${sql.join(OCCUPYING_STATUSES)}))
        order by (n - 1 - coalesce((select o.cluster_network from sessions o where o.cluster_network is not null
          order by o.id desc limit 1), -1) + ${2 * NETWORKS}) % ${NETWORKS} limit 1)
      where id = ${sessionId}`.execute(db)
  }
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
