import { type AgentId, because, type Reason, reasonOf } from '#manager/contract'
import { type AgentSnapshot, mayCross, networked, type PendingSession } from './plan/index.ts'

/** Agents between which a network of a session can exist. Pure. */
export const networkedAgents = (agents: readonly AgentSnapshot[]): ReadonlySet<AgentId> =>
  new Set(networked(agents.map(agent => ({ agent }))).map(({ agent }) => agent.id))

/** Why Slurm is not asked for a session over several hosts, of which each container gets a host with a network; undefined if it is. Pure. */
export function tooFewHosts(
  session: Pick<PendingSession, 'clusterMode' | 'clusterSize'>,
  hosts: ReadonlySet<AgentId>,
): Reason | undefined {
  const { clusterSize: needed = 1 } = session
  if (!mayCross(session) || hosts.size >= needed) return undefined
  return reasonOf('no_host_network', because('slurm_hosts_apart', { needed, count: hosts.size }))
}
