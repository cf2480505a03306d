import { because, type Because, choiceText, type Device } from '#manager/contract'
import { mayGive, type PendingSession, type Placement, totalOf } from '../scheduler/plan/index.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import { type GrantedNode } from './allocator.ts'
import { kindOf } from '../scheduler/gpu-kind.ts'

interface Unmatched {
  readonly unmatched: Because
  readonly isLasting?: boolean
}

/**
 * Places a session on the granted node: on the agent of that name, with the granted GPUs.
 *
 * @param agents of the session's resource group that work may be sent to
 * @returns why the node or its GPUs match no agent; `isLasting`: the grant can never be used
 */
export function placementOn(
  nodes: readonly GrantedNode[],
  session: PendingSession,
  agents: readonly AgentRow[],
): { readonly placement: Placement } | Unmatched {
  const [node] = nodes
  const name = nodes.map(one => one.name).join(', ')
  const agent = node && nodes.length === 1 ? agentNamed(node.name, agents) : undefined
  if (!node || !agent) return { unmatched: because('slurm_node_unknown', { node: name }) }
  const perKernel = session.requested['cuda.device'] ?? 0
  const kernels = session.clusterSize ?? 1
  // Slurm 22.05 grants jobs without their GPUs right after a restart of its controller.
  if (node.gpus.length < perKernel * kernels)
    return { unmatched: because('slurm_gpus_fewer', { node: name }), isLasting: true }
  const devices = node.gpus.flatMap(index => wholeDevice(agent.devices[index]) ?? [])
  // More GPUs than requested are granted where a reservation or partition gives whole nodes.
  if (devices.length !== node.gpus.length) return { unmatched: because('slurm_gpus_unknown', { node: name }) }
  if (!devices.every(device => mayGive(session.gpu, kindOf(device))))
    return {
      unmatched: because('slurm_gpus_other', { node: name, gpu: choiceText(session.gpu ?? {}) }),
      isLasting: true,
    }
  const used = devices
    .slice(0, perKernel * kernels)
    .map(({ uuid }) => ({ uuid, slot: 'cuda.device' as const, amount: 1 }))
  const ofKernel = (kernel: number) => used.slice(kernel * perKernel, (kernel + 1) * perKernel)
  const placement = { sessionId: session.id, agentId: agent.id, requested: totalOf(session), devices: used }
  return {
    placement:
      kernels === 1 ? placement : { ...placement, kernels: Array.from({ length: kernels }, (_, at) => ofKernel(at)) },
  }
}

const agentNamed = (node: string, agents: readonly AgentRow[]) => alike(node, agents, ({ name }) => name)

/** The node of an agent, by the same rule. */
export const nodeOf = (agent: Pick<AgentRow, 'name'>, nodes: readonly string[]): string | undefined =>
  alike(agent.name, nodes, node => node)

/** The one with this name, or with the same host name in another domain if there is only one such. */
function alike<T>(name: string, all: readonly T[], nameOf: (one: T) => string): T | undefined {
  const exact = all.filter(one => nameOf(one) === name)
  const similar = exact.length > 0 ? exact : all.filter(one => shortName(nameOf(one)) === shortName(name))
  return similar.length === 1 ? similar[0] : undefined
}

const shortName = (name: string) => name.split('.')[0]?.toLowerCase()

/**
 * Agents report GPUs in the order of nvidia-smi, by PCI bus; gres.conf has them in the same order where Slurm finds them by itself
 * (AutoDetect), or where they are listed as /dev/nvidia[0-N] of a host that numbers them so.
 */
const wholeDevice = (device: Device | undefined) =>
  device?.slot === 'cuda.device' && device.mode === 'whole' && device.problem === null ? device : undefined
