import { sql } from 'kysely'
import { type AgentId, OCCUPYING_STATUSES, type ResourceSlots } from '#manager/contract'
import { type Db } from '../schema.ts'
import { type HeldDevice } from '../tables/scheduling.ts'

/** A kernel that holds slots and whose session has a maximum lifetime, running or still starting. */
export interface MortalKernel {
  readonly agentId: AgentId
  readonly slots: ResourceSlots
  readonly devices: readonly HeldDevice[]
  readonly imageDigest: string | null
  readonly maxLifetimeSeconds: number
  /** End of the lifetime; null until the session runs. */
  readonly expiresAt: Date | null
  /** When the agent gives up starting the kernel; null until it is asked to start it. */
  readonly startBy: Date | null
  /** When the status of the session last changed. */
  readonly statusAt: Date
  /** The database's clock at the time of reading. */
  readonly now: Date
}

export async function listMortalKernels(db: Db, agentIds: readonly AgentId[]): Promise<MortalKernel[]> {
  if (agentIds.length === 0) return []
  const { rows } = await sql<MortalKernel>`
    select k.agent_id as "agentId", k.slots, s.image_digest as "imageDigest",
           s.max_lifetime_seconds as "maxLifetimeSeconds", s.expires_at as "expiresAt",
           k.start_by as "startBy", s.status_at as "statusAt", now() as now,
           coalesce(
             (select jsonb_agg(jsonb_build_object('uuid', d.uuid, 'slot', d.slot, 'amount', d.amount))
              from kernel_devices d where d.kernel_id = k.id),
             '[]') as devices
    from sessions s join kernels k on k.session_id = s.id
    where s.max_lifetime_seconds is not null and (s.expires_at is not null or s.status <> 'RUNNING')
      and k.status in (${sql.join(OCCUPYING_STATUSES)}) and k.agent_id = any(${agentIds}::uuid[])`.execute(db)
  return rows
}
