import { type AgentId, type DeviceFigures, type KernelId } from '#manager/contract'
import { type KernelMounts } from '#agent/contract'
import { type Orphan } from '../scheduler/orphans.ts'
import { type AgentMemories } from './agent-memory.ts'
import { isUnfit } from './problems.ts'

/** Facts about agents from their reports on their current connections. */
export interface AgentFacts {
  /** Whether the agent is connected, was reconciled at least once on this connection, and its engine answers. */
  isReady(agentId: AgentId): boolean
  /** Containers that occupy resources the database considers free. */
  orphans(agentId: AgentId): readonly Orphan[]
  /** Whether the agent is connected, but its engine has been away for so long that waiting for it is pointless. */
  engineIsDown(agentId: AgentId): boolean
  /** Whether the agent reports that no session can start there now. */
  isUnfit(agentId: AgentId): boolean
  /** Markers of the storages that are mounted on the agent. */
  storage(agentId: AgentId): ReadonlySet<string>
  /** Architectures of images that the agent runs; undefined if it does not report them. */
  architectures(agentId: AgentId): ReadonlySet<string> | undefined
  /** Address of the agent in the private network between hosts, as it reports it now; undefined without one. */
  clusterAddress(agentId: AgentId): string | undefined
  /** Whether the agent keeps sessions from the network, or within an allow list, as it reports now. */
  restricts(agentId: AgentId): boolean
  /** Whether people use sessions through the agent, or nothing is known of that. */
  isBusy(agentId: AgentId): boolean
  /** Folders that were added to the kernel, as its agent reports them. */
  mounts(agentId: AgentId, kernelId: KernelId): KernelMounts | undefined
  /** Statistics of its devices, from its last report. */
  deviceFigures(agentId: AgentId): readonly DeviceFigures[]
}

/** A restarting engine is usually back within this time. */
const ENGINE_LOST_MS = 60_000

export const createAgentFacts = (memories: Pick<AgentMemories, 'find'>): AgentFacts => ({
  isReady: agentId => memories.find(agentId)?.ready ?? false,
  engineIsDown: agentId => performance.now() - (memories.find(agentId)?.engineDownSince ?? Infinity) > ENGINE_LOST_MS,
  isUnfit(agentId) {
    const memory = memories.find(agentId)
    return memory !== undefined && isUnfit(memory.problems)
  },
  storage: agentId => memories.find(agentId)?.storage ?? new Set(),
  architectures: agentId => memories.find(agentId)?.architectures,
  clusterAddress: agentId => memories.find(agentId)?.clusterAddress,
  restricts: agentId => memories.find(agentId)?.restricts ?? false,
  isBusy: agentId => memories.find(agentId)?.busy ?? true,
  mounts: (agentId, kernelId) => memories.find(agentId)?.mounts.get(kernelId),
  orphans: agentId => memories.find(agentId)?.orphans ?? [],
  deviceFigures: agentId => memories.find(agentId)?.deviceFigures ?? [],
})
