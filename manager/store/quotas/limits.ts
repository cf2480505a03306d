import { sql } from 'kysely'
import {
  type GroupId,
  OCCUPYING_STATUSES,
  type ResourceSlots,
  SCOPE_KINDS,
  type ScopeUsage,
  type SessionId,
  type SlotName,
  type StoredGpuLimit,
  type UserId,
} from '#manager/contract'
import { type Db } from '../schema.ts'

/** The scopes whose limits a session counts towards: its owner, keypair, group and domain. */
export interface ScopedSession {
  readonly id: SessionId
  readonly ownerId: UserId
  readonly keypair: string | null
  readonly groupId: GroupId | null
  readonly domain: string
}

export interface ScopeRow {
  readonly kind: ScopeUsage['kind']
  readonly id: string
  readonly name: string
  readonly policy: string | null
  readonly limits: ResourceSlots
  readonly gpuLimits: readonly StoredGpuLimit[]
  readonly maxSessions: number | null
}

export interface Held {
  readonly slots: ResourceSlots
  readonly sessions: number
}

/** Ids of the scopes to read, by kind. */
export type ScopeIds = Readonly<Record<ScopeUsage['kind'], readonly string[]>>

export function scopeKey(kind: ScopeUsage['kind'], id: string): string {
  return `${kind} ${id}`
}

/** Keys of the scopes of a session, in the order in which they are checked. */
export function scopeKeysOf({ ownerId, keypair, groupId, domain }: ScopedSession): string[] {
  const ids = { user: ownerId, keypair, group: groupId, domain }
  return SCOPE_KINDS.flatMap(kind => {
    const id = ids[kind]
    return id === null ? [] : [scopeKey(kind, id)]
  })
}

export function scopeIdsOf(sessions: readonly ScopedSession[]): ScopeIds {
  const unique = <T extends string>(ids: readonly (T | null)[]) => [...new Set(ids.filter(id => id !== null))]
  return {
    user: unique(sessions.map(session => session.ownerId)),
    keypair: unique(sessions.map(session => session.keypair)),
    group: unique(sessions.map(session => session.groupId)),
    domain: unique(sessions.map(session => session.domain)),
  }
}

/** Names and limits of these scopes. @param limitedOnly leaves out scopes without a limit */
export async function listScopes(db: Db, ids: ScopeIds, { limitedOnly = false } = {}): Promise<ScopeRow[]> {
  const ofPolicy = limitedOnly
    ? sql`and (p.limits <> '{}' or p.gpu_limits <> '[]' or p.max_concurrent_sessions is not null)`
    : sql``
  const own = limitedOnly ? sql`and (limits <> '{}' or gpu_limits <> '[]')` : sql``
  const { rows } = await sql<ScopeRow>`
    select 'user' as kind, u.id::text as id, u.email as name, p.name as policy, p.limits,
           p.gpu_limits as "gpuLimits", p.max_concurrent_sessions as "maxSessions"
    from users u join resource_policies p on p.name = u.resource_policy
    where u.id = any(${ids.user}::uuid[]) ${ofPolicy}
    union all
    select 'keypair', k.access_key, k.access_key, p.name, p.limits, p.gpu_limits, p.max_concurrent_sessions
    from keypairs k join resource_policies p on p.name = k.resource_policy
    where k.access_key = any(${ids.keypair}::text[]) ${ofPolicy}
    union all
    select 'group', id::text, name, null, limits, gpu_limits, null from groups
    where id = any(${ids.group}::uuid[]) ${own}
    union all
    select 'domain', name, name, null, limits, gpu_limits, null from domains
    where name = any(${ids.domain}::text[]) ${own}`.execute(db)
  return rows
}

/**
 * Keys of the users, groups and domains that an admin has deactivated. Keypairs are left out: a keypair only authenticates
 * requests, and sessions that it created continue without it.
 */
export async function listInactive(db: Db, ids: ScopeIds): Promise<Set<string>> {
  const { rows } = await sql<{ kind: 'user' | 'group' | 'domain'; id: string }>`
    select 'user' as kind, id::text as id from users where not active and id = any(${ids.user}::uuid[])
    union all
    select 'group', id::text from groups where not active and id = any(${ids.group}::uuid[])
    union all
    select 'domain', name from domains where not active and name = any(${ids.domain}::text[])`.execute(db)
  return new Set(rows.map(({ kind, id }) => scopeKey(kind, id)))
}

/** Resources that the sessions of each scope hold now, by scope key: sums over occupying kernels, in all resource groups. */
export async function readHeld(db: Db, ids: ScopeIds): Promise<Map<string, Held>> {
  const held = new Map<string, Held>()
  if (Object.values(ids).every(list => list.length === 0)) return held
  const { rows } = await sql<{ key: string; slot: SlotName | null; amount: number }>`
    with occupying as (
      select s.id, s.owner_id, s.keypair, s.group_id, s.domain, k.slots
      from kernels k join sessions s on s.id = k.session_id
      where k.status in (${sql.join(OCCUPYING_STATUSES)})
    ), counted as (
      select 'user ' || owner_id as key, id, slots from occupying where owner_id = any(${ids.user}::uuid[])
      union all
      select 'keypair ' || keypair, id, slots from occupying where keypair = any(${ids.keypair}::text[])
      union all
      select 'group ' || group_id, id, slots from occupying where group_id = any(${ids.group}::uuid[])
      union all
      select 'domain ' || domain, id, slots from occupying where domain = any(${ids.domain}::text[])
    )
    select key, null as slot, count(distinct id) as amount from counted group by key
    union all
    select counted.key, v.key, sum(v.value::bigint)::bigint
    from counted, jsonb_each_text(slots) v group by counted.key, v.key
    `.execute(db)
  for (const { key, slot, amount } of rows) {
    const { slots, sessions } = held.get(key) ?? { slots: {}, sessions: 0 }
    held.set(key, slot === null ? { slots, sessions: amount } : { slots: { ...slots, [slot]: amount }, sessions })
  }
  return held
}

/** An amount of GPUs of one kind that is held. */
export interface HeldGpus {
  readonly model: string
  readonly isMig: boolean
  readonly slot: SlotName
  /** Base units of the slot. */
  readonly amount: number
}

/**
 * GPUs that the sessions of each scope hold now, by scope key and kind, in all resource groups. Agents keep a GPU that disappears in their list as long as a kernel holds it.
 */
export async function readHeldGpus(db: Db, ids: ScopeIds): Promise<ReadonlyMap<string, readonly HeldGpus[]>> {
  if (Object.values(ids).every(list => list.length === 0)) return new Map()
  const { rows } = await sql<HeldGpus & { key: string }>`
    with occupying as (
      select k.id, s.owner_id, s.keypair, s.group_id, s.domain from kernels k join sessions s on s.id = k.session_id
      where k.status in (${sql.join(OCCUPYING_STATUSES)})
    ), counted as (
      select 'user ' || owner_id as key, id from occupying where owner_id = any(${ids.user}::uuid[])
      union all
      select 'keypair ' || keypair, id from occupying where keypair = any(${ids.keypair}::text[])
      union all
      select 'group ' || group_id, id from occupying where group_id = any(${ids.group}::uuid[])
      union all
      select 'domain ' || domain, id from occupying where domain = any(${ids.domain}::text[])
    )
    select c.key, d.model, d.mode = 'mig' as "isMig", h.slot, sum(h.amount)::bigint as amount
    from counted c join kernel_devices h on h.kernel_id = c.id join agents a on a.id = h.agent_id,
      jsonb_to_recordset(a.devices) as d (uuid text, model text, mode text)
    where d.uuid = h.uuid
    group by c.key, d.model, "isMig", h.slot`.execute(db)
  return Map.groupBy(rows, ({ key }) => key)
}

/**
 * Domains, groups and users that may use a resource group. `users` includes the superadmins among the given users: superadmins always have
 * access.
 */
export interface GroupAccess {
  readonly domains: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
  readonly users: ReadonlySet<string>
}

export async function readGroupAccess(db: Db, resourceGroup: string, users: readonly string[]): Promise<GroupAccess> {
  const { rows } = await sql<{ domain: string | null; group_id: string | null; user_id: string | null }>`
    select domain, group_id, user_id from resource_group_access where resource_group = ${resourceGroup}
    union all
    select null, null, id from users where id = any(${users}::uuid[]) and role = 'superadmin'`.execute(db)
  const present = (ids: readonly (string | null)[]) => new Set(ids.filter(id => id !== null))
  return {
    domains: present(rows.map(row => row.domain)),
    groups: present(rows.map(row => row.group_id)),
    users: present(rows.map(row => row.user_id)),
  }
}

export function mayUse({ domains, groups, users }: GroupAccess, { ownerId, groupId, domain }: ScopedSession): boolean {
  return domains.has(domain) || users.has(ownerId) || (groupId !== null && groups.has(groupId))
}

/** The scopes towards which these sessions count. */
export async function listScopedSessions(
  db: Db,
  ids: readonly SessionId[],
): Promise<(ScopedSession & { clusterSize: number })[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'owner_id', 'keypair', 'group_id', 'domain', 'cluster_size'])
    .where('id', 'in', ids)
    .execute()
  return rows.map(row => ({
    id: row.id,
    ownerId: row.owner_id,
    keypair: row.keypair,
    groupId: row.group_id,
    domain: row.domain,
    clusterSize: row.cluster_size,
  }))
}

/** Serialises all placements that count towards a limit, in all resource groups, until the transaction ends. */
export async function lockLimits(db: Db): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('berth:limits', 0))`.execute(db)
}
