import { type AgentId, because, type Because, causeIn, type Device } from '#manager/contract'
import { findAgent, lockAgent } from '../store/agents/agents.ts'
import { type Db } from '../store/schema.ts'
import { hasRecentMessage } from '../store/operation/messages.ts'
import { type AgentMemory } from './agent-memory.ts'
import { DEFAULT_FAULT_TIMINGS, type FaultTellerDeps } from './tell-faults.ts'

/** Within this time, a GPU is told of once: one that fails and recovers again and again must not fill everybody's messages. */
const AGAIN_MS = 24 * 3600_000

/**
 * Informs superadmins of GPUs on which no session starts. Call the function with every report of an agent that has no greater fault: GPUs that
 * no session can use because of the host are no news of their own.
 */
export function createGpuFaultTeller({ store, tell, log, timings }: FaultTellerDeps) {
  const { faultMs } = { ...DEFAULT_FAULT_TIMINGS, ...timings }

  /** The lock of the agent lets one manager after the other ask this; the second then finds the message of the first. */
  async function isDue(trx: Db, agentId: AgentId, detail: string): Promise<boolean> {
    const row = await lockAgent(trx, agentId)
    if (!row || row.status === 'REVOKED') return false
    return !(await hasRecentMessage(trx, { about: 'gpu_fault', detail, withinMs: AGAIN_MS }))
  }

  async function tellOf(agentId: AgentId, device: Device): Promise<void> {
    const host = (await findAgent(store.db, agentId))?.name
    if (host === undefined) return
    const gpu = `${device.model} (${device.uuid})`
    await tell({ host, gpu, fault: problemOf(device), isDue: trx => isDue(trx, agentId, detailOf(host, gpu)) })
  }

  return async function note(
    agentId: AgentId,
    { gpuFaults }: Pick<AgentMemory, 'gpuFaults'>,
    devices: readonly Device[],
  ): Promise<void> {
    const now = performance.now()
    const broken = devices.filter(({ problem }) => problem !== null)
    const uuids = new Set(broken.map(({ uuid }) => uuid))
    for (const uuid of gpuFaults.keys()) if (!uuids.has(uuid)) gpuFaults.delete(uuid)
    for (const device of broken) {
      const fault = gpuFaults.get(device.uuid) ?? { since: now, isTold: false }
      gpuFaults.set(device.uuid, fault)
      if (fault.isTold || now - fault.since < faultMs) continue
      fault.isTold = true
      await tellOf(agentId, device).catch((error: unknown) => {
        // The next report tries again.
        fault.isTold = false
        log.error({ err: error, agentId }, 'superadmins could not be told about a GPU')
      })
    }
  }
}

/** Name of a GPU in messages, by which an earlier message about it is found. */
export const detailOf = (host: string, gpu: string): string => `${host}: ${gpu}`

const problemOf = ({ problem, problemBy }: Device): Because =>
  causeIn({ ...problemBy, why: problem }) ?? because('agent_says', { text: problem ?? '' })
