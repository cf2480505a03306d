import { mayGive, type PendingSession } from '../scheduler/plan/index.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import { type EngineNode } from './allocator.ts'
import { kindOf } from '../scheduler/gpu-kind.ts'
import { nodeOf } from './place.ts'

/** How the choice of a session among GPUs is told to the engine. */
export interface GpuRequest {
  /** The engine's type of GPUs; left out: the excluded nodes say it all. */
  readonly gpuType?: string
  /** Nodes with GPUs that the session does not accept. */
  readonly exclude: readonly string[]
}

/**
 * Translates the choice of a session, which names models, into what the engine knows: its own type of GPUs if just one type has all that the
 * session accepts and nothing else, else the nodes that will not do. Models are those that agents report; the types of a node's GPUs are in
 * the same order. Pure.
 *
 * @param agents of the resource group
 * @returns undefined if no node has such GPUs only
 */
export function gpuRequest(
  session: Pick<PendingSession, 'gpu'>,
  nodes: readonly EngineNode[],
  agents: readonly Pick<AgentRow, 'name' | 'devices'>[],
): GpuRequest | undefined {
  const names = nodes.map(({ name }) => name)
  const known = agents.flatMap(agent => {
    const name = nodeOf(agent, names)
    const node = nodes.find(one => one.name === name)
    if (!node) return []
    const gpus = agent.devices.map((device, index) => ({
      type: node.gpuTypes[index],
      // Slurm gives whole GPUs only.
      isAccepted: device.mode === 'whole' && mayGive(session.gpu, kindOf(device)),
    }))
    return [{ name: node.name, gpus }]
  })
  const all = known.flatMap(({ gpus }) => gpus)
  const types = new Set(all.filter(({ isAccepted }) => isAccepted).map(({ type }) => type))
  const [gpuType] = types
  const isExact = !all.some(gpu => gpu.type === gpuType && !gpu.isAccepted)
  if (types.size === 1 && gpuType !== undefined && isExact) return { gpuType, exclude: [] }
  const isWhole = ({ gpus }: (typeof known)[number]) => gpus.length > 0 && gpus.every(({ isAccepted }) => isAccepted)
  if (!known.some(isWhole)) return undefined
  return { exclude: known.filter(node => !isWhole(node)).map(({ name }) => name) }
}
