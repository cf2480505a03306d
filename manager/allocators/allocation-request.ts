import { type AgentId, because, type Because, choiceText } from '#manager/contract'
import { mayCross, type PendingSession, totalOf } from '../scheduler/plan/index.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import { type AllocationRequest, type EngineNode } from './allocator.ts'
import { gpuRequest } from './gpu-request.ts'
import { nodeOf } from './place.ts'
import { type WaitingSessions } from './read-waiting.ts'
import { jobSettings } from './slurm/job-settings.ts'

interface AgentsNow {
  readonly agents: readonly AgentRow[]
  readonly isReady: (id: AgentId) => boolean
  readonly isNetworked: (id: AgentId) => boolean
}

/** The nodes that a request names. */
export type WantedNodes = Pick<AllocationRequest, 'node' | 'exclude' | 'gpuType'>

/** Whether the session may not run on every node, so that its request names nodes. */
export const namesNodes = (session: PendingSession): boolean =>
  session.onlyOn !== undefined || session.failedAgents.length > 0 || session.gpu !== undefined || mayCross(session)

/**
 * The nodes on which the session has to run, or has failed. Slurm refuses names that it does not know. Pure.
 *
 * @param nodes of the engine
 * @param agents of the session's resource group
 * @param isReady whether work may be sent to an agent now
 * @param isNetworked whether an agent takes part in sessions over several hosts
 */
export function wantedNodes(
  session: PendingSession,
  nodes: readonly EngineNode[],
  { agents, isReady, isNetworked }: AgentsNow,
): WantedNodes | { readonly refused: Because } {
  const { onlyOn, failedAgents, gpu } = session
  const names = nodes.map(({ name }) => name)
  const chosen = gpu ? gpuRequest(session, nodes, agents) : { exclude: [] }
  if (!chosen) return { refused: because('slurm_gpus_nowhere', { gpu: choiceText(gpu ?? {}) }) }
  const nameOfNode = (agent: AgentRow | undefined) => agent && (nodeOf(agent, names) ?? agent.name)
  const { gpuType } = chosen
  if (onlyOn !== undefined) return { node: nameOfNode(agents.find(({ id }) => id === onlyOn)), gpuType }
  const failed = agents.filter(({ id }) => failedAgents.includes(id))
  // Where it has failed everywhere, any node will do again.
  const isElsewhere = agents.some(({ id }) => !failedAgents.includes(id) && isReady(id))
  const others = isElsewhere ? failed.flatMap(agent => nodeOf(agent, names) ?? []) : []
  const able = agents.filter(({ id }) => isNetworked(id)).flatMap(agent => nodeOf(agent, names) ?? [])
  const apart = mayCross(session) ? names.filter(name => !able.includes(name)) : []
  return { exclude: [...new Set([...chosen.exclude, ...others, ...apart])], gpuType }
}

/** The request for the resources of a session. Pure. */
export function allocationRequest(
  of: Pick<AllocationRequest, 'name' | 'user'> & WantedNodes,
  session: PendingSession,
  { group }: Pick<WaitingSessions, 'group'>,
): AllocationRequest {
  // Each container of a session over several hosts has a node of its own.
  const isApart = mayCross(session)
  const { cpu = 0, mem = 0, 'cuda.device': gpus = 0 } = isApart ? session.requested : totalOf(session)
  return {
    ...of,
    nodes: isApart ? (session.clusterSize ?? 1) : 1,
    cpus: Math.max(1, Math.ceil(cpu / 1000)),
    memBytes: mem,
    gpus,
    settings: jobSettings(group.options.slurm ?? {}, session),
  }
}
