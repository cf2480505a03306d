import { sql } from 'kysely'
import { type AgentId, type ResourceSlots } from '#manager/contract'
import { type HeldDevice, type Db } from './schema.ts'

/** A running kernel whose session has a maximum lifetime. */
export interface MortalKernel {
  readonly agentId: AgentId
  readonly slots: ResourceSlots
  readonly devices: readonly HeldDevice[]
  readonly expiresAt: Date
}

export async function listMortalKernels(db: Db, agentIds: readonly AgentId[]): Promise<MortalKernel[]> {
  if (agentIds.length === 0) return []
  const { rows } = await sql<MortalKernel>`
    select k.agent_id as "agentId", k.slots, s.expires_at as "expiresAt",
           coalesce(
             (select jsonb_agg(jsonb_build_object('uuid', d.uuid, 'slot', d.slot, 'amount', d.amount))
              from kernel_devices d where d.kernel_id = k.id),
             '[]') as devices
    from sessions s join kernels k on k.session_id = s.id
    where s.status = 'RUNNING' and s.expires_at is not null and k.agent_id = any(${agentIds}::uuid[])`.execute(db)
  return rows
}
