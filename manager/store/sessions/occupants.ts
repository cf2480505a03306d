import { sql } from 'kysely'
import { type AgentId, OCCUPYING_STATUSES, type ResourceSlots } from '#manager/contract'
import { type HeldDevice, type Db } from '../schema.ts'

/** A kernel that holds slots, of a session that its maximum lifetime ends, now or once it runs. */
export interface MortalKernel {
  readonly agentId: AgentId
  readonly slots: ResourceSlots
  readonly devices: readonly HeldDevice[]
  readonly imageDigest: string | null
  readonly maxLifetimeSeconds: number
  /** Null until the session runs. */
  readonly expiresAt: Date | null
  /** When its agent gives its start up; null before it is asked. */
  readonly startBy: Date | null
  /** Since when the session has been in its state. */
  readonly statusAt: Date
  /** The database's clock. */
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
