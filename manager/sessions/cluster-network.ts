import { type ClusterNetwork } from '#agent/contract'
import { AppError, because, clusterRoles, MAX_CLUSTER_SIZE } from '#manager/contract'
import { type PlacingPresence } from '../scheduler/snapshot.ts'
import { type KernelRow } from '../store/sessions/kernels.ts'
import { type OwnedSessionRow } from '../store/sessions/sessions.ts'

/** Numbers of networks between hosts begin here, so that they are not those of other programs. */
export const FIRST_ID = 0x42_0000
/** First address of 10.212.0.0/16. No host has a route to it: only containers of these sessions have addresses in it. */
const RANGE = [10, 212] as const
/** Addresses of a /28. */
const SUBNET = 16
/** The first address is reserved for a gateway, which no host has. */
const FIRST_KERNEL = 2

/**
 * The network between the hosts of a session; undefined if all its kernels are on one agent.
 *
 * @param kernels those that have not finished, the main one first
 * @throws AppError `unavailable` if a host does not offer its address now
 */
export function clusterNetworkOf(
  { cluster_network: network }: Pick<OwnedSessionRow, 'cluster_network'>,
  kernels: readonly Pick<KernelRow, 'role' | 'agent_id'>[],
  presence: Pick<PlacingPresence, 'clusterAddress'>,
): ClusterNetwork | undefined {
  if (network === null) return undefined
  return {
    id: FIRST_ID + network,
    subnet: `${addressOf(network, 0)}/28`,
    kernels: kernels.map(({ role, agent_id: agentId }) => {
      const host = agentId === null ? undefined : presence.clusterAddress(agentId)
      if (host === undefined) throw new AppError('unavailable', because('host_left_private_network'))
      return { role, address: addressOf(network, FIRST_KERNEL + indexOf(role)), host }
    }),
  }
}

/** Position among the names of kernels: main1, sub1, sub2, … */
const indexOf = (role: string) => clusterRoles(MAX_CLUSTER_SIZE).indexOf(role)

function addressOf(network: number, index: number): string {
  const at = network * SUBNET + index
  return [...RANGE, Math.floor(at / 256), at % 256].join('.')
}
