import { type AgentId, type KernelId, type Reason, type SessionId } from '#manager/contract'
import { insertKernelDevices, type KernelDeviceRow, listKernels, toStatus } from './kernels.ts'
import { type Db } from '../schema.ts'
import { insertSessionEvents } from './session-events.ts'
import { lockGroupOfAgent } from '../agents/agent-groups.ts'
import { lockSession, updateSession } from './sessions.ts'
import { type Touched } from './touches.ts'

export interface FoundRunning {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly attempt: number
  readonly startedAt: string
  readonly kernels: readonly { readonly id: KernelId; readonly containerId: string }[]
  readonly devices: readonly KernelDeviceRow[]
}

/**
 * Adopts a session that is PENDING in the database but runs: all of its containers were found on an agent.
 * @returns undefined if the session is not PENDING, or if these are not exactly its kernels
 */
export async function adoptRunning(trx: Db, found: FoundRunning, reason: Reason): Promise<Touched | undefined> {
  const { sessionId, agentId, attempt } = found
  await lockGroupOfAgent(trx, agentId)
  const session = await lockSession(trx, sessionId)
  if (session?.status !== 'PENDING') return undefined
  const own = (await listKernels(trx, [sessionId])).map(({ id }) => id)
  const ids = new Set(found.kernels.map(({ id }) => id))
  if (own.length !== ids.size || own.some(id => !ids.has(id))) return undefined
  for (const { id, containerId } of found.kernels) {
    await trx
      .updateTable('kernels')
      .set({ ...toStatus('RUNNING'), agent_id: agentId, attempt, container_id: containerId, start_by: null })
      .where('id', '=', id)
      .execute()
  }
  await insertKernelDevices(trx, found.devices)
  const version = await updateSession(trx, sessionId, { status: 'RUNNING', reason, attempt, started: found.startedAt })
  await insertSessionEvents(trx, [{ sessionId, kernelId: null, from: 'PENDING', to: 'RUNNING', reason, actor: null }])
  return { id: sessionId, ownerId: session.owner_id, domain: session.domain, version }
}
