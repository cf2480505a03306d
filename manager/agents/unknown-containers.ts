import { type AgentId, AppError, because, formatSlots, type KernelId, type UnknownContainer } from '#manager/contract'
import { type KernelReport } from '#agent/contract'
import { findAgent } from '../store/agents/agents.ts'
import { noSuchAgent } from '../store/missing.ts'
import { type Store } from '../store/open-store.ts'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Reports } from './reports.ts'

/** Lets admins decide about containers that are neither signed nor known: created by hand, or by a version before signatures. */
export interface UnknownContainers {
  /** @throws AppError `agent_not_found`, `agent_unreachable`, `engine_unreachable` */
  list(id: AgentId): Promise<UnknownContainer[]>
  /** @throws as `list`, and `kernel_not_found`, `user_not_found` (nobody it could belong to) */
  decide(id: AgentId, kernelId: KernelId, action: 'import' | 'remove'): Promise<void>
}

export interface UnknownContainersDeps {
  readonly store: Store
  readonly agents: AgentRequests
  readonly reports: Pick<Reports, 'unknown' | 'confirm'>
}

const AGENT_TIMEOUT_MS = 30_000
const GRACE_MS = 10_000

export function createUnknownContainers({ store, agents, reports }: UnknownContainersDeps): UnknownContainers {
  async function ask(id: AgentId): Promise<readonly KernelReport[]> {
    const agent = await findAgent(store.db, id)
    if (!agent || agent.status === 'REVOKED') throw noSuchAgent(id)
    return (await agents.request(id, 'list_kernels', {}, { timeoutMs: AGENT_TIMEOUT_MS })).kernels
  }

  return {
    async list(id) {
      return (await reports.unknown(id, await ask(id))).map(({ label, startedAt }) => ({
        kernelId: label.kernelId,
        sessionId: label.sessionId,
        sessionName: label.sessionName,
        ownerEmail: label.owner.email,
        image: label.image.reference,
        slots: formatSlots(label.slots),
        startedAt,
      }))
    },
    async decide(id, kernelId, action) {
      const found = await ask(id)
      const unknown = await reports.unknown(id, found)
      const container = found.find(report => report.kernelId === kernelId)
      if (!container || unknown.every(({ label }) => label.kernelId !== kernelId)) {
        throw new AppError('kernel_not_found', {
          kernelId,
          ...because('container_not_waiting'),
        })
      }
      if (action === 'import') {
        await reports.confirm(id, container)
        const still = (await reports.unknown(id, [container])).find(({ label }) => label.kernelId === kernelId)
        if (still)
          throw new AppError('user_not_found', because('container_without_owner', { owner: still.label.owner.email }))
        return
      }
      const input = { kernelId, attempt: container.attempt, graceMs: GRACE_MS }
      await agents.request(id, 'destroy_kernel', input, { timeoutMs: AGENT_TIMEOUT_MS })
    },
  }
}
