import { sql } from 'kysely'
import {
  type AgentId,
  type KernelId,
  OCCUPYING_STATUSES,
  type ResourceSlots,
  type SessionId,
  type SessionStatus,
} from '#manager/contract'
import { insertKernelDevices, toStatus } from '../sessions/kernels.ts'
import { type Db } from '../schema.ts'
import { type HeldDevice } from '../tables/scheduling.ts'
import { lockSession } from '../sessions/sessions.ts'

/** A kernel row that holds resources, with everything that it records about them. */
export interface HoldingKernel {
  readonly kernelId: KernelId
  readonly sessionId: SessionId
  readonly sessionName: string
  readonly status: SessionStatus
  readonly attempt: number
  readonly slots: ResourceSlots
  readonly devices: readonly HeldDevice[]
}

export async function listHolding(db: Db, agentId: AgentId): Promise<HoldingKernel[]> {
  const { rows } = await sql<HoldingKernel>`
    select k.id as "kernelId", s.id as "sessionId", s.name as "sessionName", k.status, k.attempt, k.slots,
           coalesce(
             (select json_agg(json_build_object('uuid', d.uuid, 'slot', d.slot, 'amount', d.amount) order by d.uuid)
              from kernel_devices d where d.kernel_id = k.id), '[]') as devices
    from kernels k join sessions s on s.id = k.session_id
    where k.agent_id = ${agentId}::uuid and k.status in (${sql.join(OCCUPYING_STATUSES)})
    order by k.id`.execute(db)
  return rows
}

/** Kernels that hold resources although their session has ended or is pending, after an incomplete transition. */
export async function listHoldingForNobody(
  db: Db,
): Promise<{ kernelId: KernelId; sessionId: SessionId; sessionName: string; agentId: AgentId | null }[]> {
  const occupying = sql.join(OCCUPYING_STATUSES)
  const { rows } = await sql<{
    kernelId: KernelId
    sessionId: SessionId
    sessionName: string
    agentId: AgentId | null
  }>`
    select k.id as "kernelId", s.id as "sessionId", s.name as "sessionName", k.agent_id as "agentId"
    from kernels k join sessions s on s.id = k.session_id
    where k.status in (${occupying}) and s.status not in (${occupying})`.execute(db)
  return rows
}

/**
 * Releases the resources that a kernel holds although its session has ended or is pending. Call it in a transaction. @returns whether it
 * released anything
 */
export async function releaseHeldForNobody(
  trx: Db,
  { kernelId, sessionId }: { kernelId: KernelId; sessionId: SessionId },
): Promise<boolean> {
  const session = await lockSession(trx, sessionId)
  if (!session || (OCCUPYING_STATUSES as readonly SessionStatus[]).includes(session.status)) return false
  const waits = session.status === 'PENDING'
  const { numUpdatedRows } = await trx
    .updateTable('kernels')
    .set({
      ...toStatus(session.status),
      // The kernel ended with its session, not at the time of this check.
      ...(session.ended_at ? { ended_at: session.ended_at } : {}),
      ...(waits ? { agent_id: null, container_id: null, start_by: null } : {}),
    })
    .where('id', '=', kernelId)
    .where('status', 'in', OCCUPYING_STATUSES)
    .executeTakeFirst()
  if (waits) await trx.deleteFrom('kernel_devices').where('kernel_id', '=', kernelId).execute()
  return numUpdatedRows === 1n
}

/** Resources of a container, according to its signed label. */
export interface ContainerAmounts {
  readonly kernelId: KernelId
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly attempt: number
  readonly slots: ResourceSlots
  readonly devices: readonly HeldDevice[]
}

/**
 * Writes the resources of a running container into its kernel row. Call it in a transaction that holds the lock of the
 * resource group. @returns false if the row is not of this attempt on this agent, or not RUNNING
 */
export async function writeAmounts(trx: Db, container: ContainerAmounts): Promise<boolean> {
  const { kernelId, sessionId, agentId, attempt, slots, devices } = container
  await lockSession(trx, sessionId)
  const { numUpdatedRows } = await trx
    .updateTable('kernels')
    .set({ slots: JSON.stringify(slots) })
    .where('id', '=', kernelId)
    .where('agent_id', '=', agentId)
    .where('attempt', '=', attempt)
    .where('status', '=', 'RUNNING')
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) return false
  await trx.deleteFrom('kernel_devices').where('kernel_id', '=', kernelId).execute()
  await insertKernelDevices(
    trx,
    devices.map(device => ({ kernel_id: kernelId, agent_id: agentId, ...device })),
  )
  return true
}
