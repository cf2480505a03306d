import { type AgentId, because, type Because, choiceText, type Device } from '#manager/contract'
import {
  type DeviceAllocation,
  mayCross,
  mayGive,
  type PendingSession,
  type Placement,
  totalOf,
} from '../scheduler/plan/index.ts'
import { type AgentRow } from '../store/agents/agents.ts'
import { type GrantedNode } from './allocator.ts'
import { kindOf } from '../scheduler/gpu-kind.ts'

interface Unmatched {
  readonly unmatched: Because
  readonly isLasting?: boolean
}

/**
 * Places a session on the granted nodes: on the agents of their names, with the granted GPUs. A session over several hosts has a container on
 * each node, any other all its containers on one.
 *
 * @param agents of the session's resource group that work may be sent to
 * @returns why a node or its GPUs match no agent; `isLasting`: the grant can never be used
 */
export function placementOn(
  nodes: readonly GrantedNode[],
  session: PendingSession,
  agents: readonly AgentRow[],
): { readonly placement: Placement } | Unmatched {
  const { clusterSize = 1 } = session
  const isApart = mayCross(session)
  const needed = isApart ? clusterSize : 1
  const names = nodes.map(({ name }) => name).join(', ')
  const others: Unmatched = { unmatched: because('slurm_nodes_other', { nodes: names || '–', needed }) }
  if (nodes.length !== needed) return others
  const kernelsOnEach = isApart ? 1 : clusterSize
  const hosts: AgentId[] = []
  const kernels: DeviceAllocation[][] = []
  for (const node of nodes) {
    const found = kernelsOn(node, kernelsOnEach, session, agents)
    if ('unmatched' in found) return found
    hosts.push(...found.kernels.map(() => found.agentId))
    kernels.push(...found.kernels)
  }
  const [agentId] = hosts
  if (agentId === undefined || (isApart && new Set(hosts).size < needed)) return others
  const placement = { sessionId: session.id, agentId, requested: totalOf(session), devices: kernels.flat() }
  return {
    placement: { ...placement, ...(clusterSize === 1 ? {} : { kernels }), ...(isApart ? { hosts } : {}) },
  }
}

/** The agent of a node, and the GPUs of each kernel there. */
function kernelsOn(
  node: GrantedNode,
  count: number,
  session: PendingSession,
  agents: readonly AgentRow[],
): { readonly agentId: AgentId; readonly kernels: DeviceAllocation[][] } | Unmatched {
  const agent = agentNamed(node.name, agents)
  if (!agent) return { unmatched: because('slurm_node_unknown', { node: node.name }) }
  const perKernel = session.requested['cuda.device'] ?? 0
  // Slurm 22.05 grants jobs without their GPUs right after a restart of its controller.
  if (node.gpus.length < perKernel * count)
    return { unmatched: because('slurm_gpus_fewer', { node: node.name }), isLasting: true }
  const devices = node.gpus.flatMap(index => wholeDevice(agent.devices[index]) ?? [])
  // More GPUs than requested are granted where a reservation or partition gives whole nodes.
  if (devices.length !== node.gpus.length) return { unmatched: because('slurm_gpus_unknown', { node: node.name }) }
  if (!devices.every(device => mayGive(session.gpu, kindOf(device))))
    return {
      unmatched: because('slurm_gpus_other', { node: node.name, gpu: choiceText(session.gpu ?? {}) }),
      isLasting: true,
    }
  const used = devices.map(({ uuid }) => ({ uuid, slot: 'cuda.device' as const, amount: 1 }))
  const kernels = Array.from({ length: count }, (_, at) => used.slice(at * perKernel, (at + 1) * perKernel))
  return { agentId: agent.id, kernels }
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
