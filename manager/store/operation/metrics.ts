import { sql } from 'kysely'
import { LIVE_STATUSES, OCCUPYING_STATUSES, type ResourceSlots, type SessionStatus } from '#manager/contract'
import { type Db } from '../schema.ts'

/** Live sessions of one resource group in one status. */
export interface SessionMetrics {
  readonly resourceGroup: string
  readonly status: SessionStatus
  readonly count: number
  /** How long the oldest of them has been in this status, in seconds. */
  readonly oldestSeconds: number
}

export async function readSessionMetrics(db: Db): Promise<SessionMetrics[]> {
  const { rows } = await sql<SessionMetrics>`
    select resource_group as "resourceGroup", status, count(*)::int as count,
           extract(epoch from now() - min(status_at))::float8 as "oldestSeconds"
    from sessions where status in (${sql.join(LIVE_STATUSES)})
    group by resource_group, status order by 1, 2`.execute(db)
  return rows
}

/** Number of kernels that hold resources, by status. */
export async function readKernelMetrics(db: Db): Promise<{ status: SessionStatus; count: number }[]> {
  const { rows } = await sql<{ status: SessionStatus; count: number }>`
    select status, count(*)::int as count from kernels where status in (${sql.join(OCCUPYING_STATUSES)})
    group by status order by status`.execute(db)
  return rows
}

/** An agent that has not been revoked. Amounts in base units. */
export interface AgentMetrics {
  readonly id: string
  readonly name: string
  readonly resourceGroup: string
  readonly status: 'CONNECTED' | 'LOST'
  readonly schedulable: boolean
  readonly silentSeconds: number
  readonly capacity: ResourceSlots
  readonly occupied: ResourceSlots
  readonly kernels: number
}

export async function readAgentMetrics(db: Db): Promise<AgentMetrics[]> {
  const { rows } = await sql<AgentMetrics>`
    with held as (
      select agent_id, slot, sum(amount::bigint)::bigint as amount
      from kernels, jsonb_each_text(slots) as each(slot, amount)
      where status in (${sql.join(OCCUPYING_STATUSES)}) and agent_id is not null
      group by agent_id, slot
    )
    select id, name, resource_group as "resourceGroup", status, schedulable,
           extract(epoch from now() - last_seen_at)::float8 as "silentSeconds", capacity,
           coalesce((select json_object_agg(slot, amount) from held where held.agent_id = agents.id), '{}') as occupied,
           (select count(*)::int from kernels
            where kernels.agent_id = agents.id and kernels.status in (${sql.join(OCCUPYING_STATUSES)})) as kernels
    from agents where status <> 'REVOKED' order by name`.execute(db)
  return rows
}
