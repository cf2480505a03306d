import { type RawBuilder, sql } from 'kysely'
import {
  type AgentId,
  type AgentOrder,
  type AgentState,
  type Device,
  OCCUPYING_STATUSES,
  type ResourceSlots,
} from '#manager/contract'
import { type Db } from '../schema.ts'
import { type AgentRow } from './agents.ts'

/** An agent as a list needs it. Devices are left out: a host has up to 16, which would be most of the answer. */
export type ListedAgent = Omit<AgentRow, 'devices' | 'device_modes' | 'public_key' | 'images_digest' | 'joined_at'> & {
  readonly gpus: number
  /** Devices that have a problem. */
  readonly broken: readonly Device[]
}

export interface AgentFilter {
  /** Undefined: all but forgotten agents. */
  readonly state?: AgentState | undefined
  readonly resourceGroup?: string | undefined
  readonly problems?: boolean | undefined
  /** Part of the name, resource group, version or id, in any letter case. */
  readonly search?: string | undefined
}

export interface AgentPage extends AgentFilter {
  readonly limit: number
  /** The last agent of the previous page. */
  readonly after?: AgentId | undefined
  readonly order: AgentOrder
  readonly descending: boolean
}

const BROKEN = sql`jsonb_path_query_array(a.devices, '$[*] ? (@.problem != null)')`
const STATE = sql`case when a.status = 'REVOKED' then 'forgotten' when a.status = 'LOST' then 'lost'
  when a.schedulable then 'connected' else 'paused' end`
/** Counts the same problems as `problemsOf` of the console. */
const PROBLEMS = sql`(case when a.status = 'LOST' then 1 else 0 end + case when a.problem is null then 0 else 1 end
  + case when a.network_isolation_reason is null then 0 else 1 end
  + case when a.program_update->>'state' = 'failed' then 1 else 0 end + jsonb_array_length(${BROKEN}))`
/** Occupied fraction of the capacity of one slot; -1 without capacity. */
const part = (slot: RawBuilder<unknown>) => sql`coalesce((select sum((k.slots->>${slot})::bigint) from kernels k
    where k.agent_id = a.id and k.status in (${sql.join(OCCUPYING_STATUSES)})), 0)
  / nullif((a.capacity->>${slot})::float8, 0)`
/** GPUs are whole or in shares; whole ones come first, as in the bar of the console. */
const GPU = sql`case when coalesce((a.capacity->>'cuda.device')::bigint, 0) > 0 then 'cuda.device' else 'cuda.shares' end`
const BY: Readonly<Record<AgentOrder, RawBuilder<unknown>>> = {
  name: sql`lower(a.name)`,
  state: STATE,
  group: sql`lower(a.resource_group)`,
  cpu: sql`coalesce(${part(sql`'cpu'`)}, -1)`,
  mem: sql`coalesce(${part(sql`'mem'`)}, -1)`,
  gpu: sql`coalesce(${part(sql`(${GPU})`)}, -1)`,
  problems: PROBLEMS,
  seen: sql`a.last_seen_at`,
  version: sql`a.version`,
}

/** A page of agents, and the number of all that match. */
export async function listAgentPage(db: Db, page: AgentPage): Promise<{ rows: ListedAgent[]; total: number }> {
  const { order, descending, limit, after } = page
  const direction = sql.raw(descending ? 'desc' : 'asc')
  const comes = sql.raw(descending ? '<' : '>')
  const start =
    after === undefined ? sql`` : sql`where (by, id) ${comes} (select by, id from matching where id = ${after})`
  const { rows } = await sql<Partial<ListedAgent> & { total: number }>`
    with matching as materialized (select a.*, ${BY[order]} as by from agents a where ${matching(page)}),
    page as (
      select a.id, a.name, a.resource_group, a.status, a.schedulable, a.capacity, a.network_isolation,
        a.network_isolation_reason, a.network_isolation_reason_by, a.version, a.engine_version, a.last_seen_at, a.problem,
        a.problem_by, a.program, a.program_update, a.removal, a.row_version, jsonb_array_length(a.devices) as gpus, ${BROKEN} as broken, a.by
      from matching a ${start} order by by ${direction}, id ${direction} limit ${limit})
    select page.*, counted.total from (select count(*)::int as total from matching) counted left join page on true
    order by by ${direction}, id ${direction}`.execute(db)
  return { rows: rows.flatMap(row => (isListed(row) ? [row] : [])), total: rows[0]?.total ?? 0 }
}

/** A row with the count comes even if the page is empty. */
const isListed = (row: Partial<ListedAgent>): row is ListedAgent => typeof row.id === 'string'

function matching({ state, resourceGroup, problems, search }: AgentFilter): RawBuilder<boolean> {
  const conditions = [
    state === undefined ? sql`a.status <> 'REVOKED'` : sql`${STATE} = ${state}`,
    ...(resourceGroup === undefined ? [] : [sql`a.resource_group = ${resourceGroup}`]),
    ...(problems === undefined ? [] : [sql`(${PROBLEMS} > 0) = ${problems}`]),
    ...(search
      ? [
          sql`position(${search.toLowerCase()} in
            lower(a.name || ' ' || a.resource_group || ' ' || a.version || ' ' || a.id::text)) > 0`,
        ]
      : []),
  ]
  return sql<boolean>`${sql.join(conditions, sql` and `)}`
}

/** Sums over agents that are not revoked. */
export interface AgentTotals {
  readonly connected: number
  readonly lost: number
  /** GPUs of connected agents. */
  readonly gpus: number
  /** Capacity of connected agents. */
  readonly capacity: ResourceSlots
  /** Amounts that kernels hold on connected agents. */
  readonly occupied: ResourceSlots
}

/** @param groups agents of these resource groups; undefined: all agents */
export async function readAgentTotals(db: Db, groups?: ReadonlySet<string>): Promise<AgentTotals> {
  const inGroups = groups === undefined ? sql`` : sql`and resource_group = any(${[...groups]}::text[])`
  const { rows } = await sql<AgentTotals>`
    with known as materialized (
      select id, status = 'CONNECTED' as here, capacity, jsonb_array_length(devices) as gpus
      from agents where status <> 'REVOKED' ${inGroups}
    ), offered as (
      select s.key as slot, sum(s.value::bigint)::bigint as amount
      from known, jsonb_each_text(known.capacity) s where known.here group by s.key
    ), held as (
      select s.key as slot, sum(s.value::bigint)::bigint as amount
      from kernels k join known on known.id = k.agent_id, jsonb_each_text(k.slots) s
      where known.here and k.status in (${sql.join(OCCUPYING_STATUSES)}) group by s.key
    )
    select (count(*) filter (where here))::int as connected, (count(*) filter (where not here))::int as lost,
      coalesce(sum(gpus) filter (where here), 0)::int as gpus,
      coalesce((select json_object_agg(slot, amount) from offered), '{}') as capacity,
      coalesce((select json_object_agg(slot, amount) from held), '{}') as occupied
    from known`.execute(db)
  const [totals] = rows
  if (!totals) throw new Error('a query of totals has a row')
  return totals
}
