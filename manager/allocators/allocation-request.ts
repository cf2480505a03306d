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
  /** Agents whose hosts lack what the session needs and Slurm does not know: its image, a storage. */
  readonly unable: ReadonlySet<AgentId>
}

/** The nodes that a request names. */
export type WantedNodes = Pick<AllocationRequest, 'node' | 'exclude' | 'gpuType'>

/** Whether the session may not run on every node, so that its request names nodes. */
export const namesNodes = (
  session: PendingSession,
  { agents, unable }: Pick<AgentsNow, 'agents' | 'unable'>,
): boolean =>
  session.onlyOn !== undefined ||
  session.failedAgents.length > 0 ||
  session.gpu !== undefined ||
  mayCross(session) ||
  agents.some(({ id }) => unable.has(id))

/**
 * The node on which the session has to run, or those that it has to avoid. Slurm refuses names that it does not know. Pure.
 *
 * @param nodes of the engine
 * @param agents of the session's resource group
 * @param isReady whether work may be sent to an agent now
 * @param isNetworked whether an agent takes part in sessions over several hosts
 * @param unable agents whose hosts cannot run the session, so that a grant there would be of no use
 */
export function wantedNodes(
  session: PendingSession,
  nodes: readonly EngineNode[],
  { agents, isReady, isNetworked, unable }: AgentsNow,
): WantedNodes | { readonly refused: Because } {
  const { onlyOn, failedAgents, gpu, clusterSize = 1 } = session
  const names = nodes.map(({ name }) => name)
  const chosen = gpu ? gpuRequest(session, nodes, agents) : { exclude: [] }
  if (!chosen) return { refused: because('slurm_gpus_nowhere', { gpu: choiceText(gpu ?? {}) }) }
  const isApart = mayCross(session)
  const lacking = agents.filter(({ id }) => unable.has(id))
  const able = agents.filter(({ id }) => !unable.has(id) && (onlyOn === undefined || id === onlyOn))
  const needed = isApart ? clusterSize : 1
  if (able.length < needed && lacking.length > 0)
    return { refused: because('slurm_hosts_unable', { needed, count: able.length }) }
  const nameOfNode = (agent: AgentRow | undefined) => agent && (nodeOf(agent, names) ?? agent.name)
  const { gpuType } = chosen
  if (onlyOn !== undefined) return { node: nameOfNode(agents.find(({ id }) => id === onlyOn)), gpuType }
  const nodesOf = (some: readonly AgentRow[]) => some.flatMap(agent => nodeOf(agent, names) ?? [])
  const networked = nodesOf(agents.filter(({ id }) => isNetworked(id)))
  const unfit = [
    ...chosen.exclude,
    ...nodesOf(lacking),
    ...(isApart ? names.filter(name => !networked.includes(name)) : []),
  ]
  const fresh = nodesOf(agents.filter(({ id }) => !failedAgents.includes(id) && isReady(id)))
  const left = fresh.filter(name => !unfit.includes(name)).length
  // Where too few others are left, a node on which the session has failed will do again.
  const isElsewhere = left >= needed
  const avoided = isElsewhere ? nodesOf(agents.filter(({ id }) => failedAgents.includes(id))) : []
  return { exclude: [...new Set([...unfit, ...avoided])], gpuType }
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
