import { type NetworkInspectInfo } from 'dockerode'
import { LABEL_MANAGER } from '#agent/contract'
import { areElsewhere, type Bridge, type Cidr, conflictingRoute, parseCidr, type Route } from './subnets.ts'

/** Prefix of every bridge of Berth, so that people and firewalls can recognize it. A name has at most 15 characters. */
export const BRIDGE_PREFIX = 'berth'

/**
 * Compares the engine's networks with the route table of this process.
 *
 * @returns `isElsewhere`: the bridges are in another network namespace, whose routes are unknown; `conflict`: another program uses a part
 *   of the range
 */
export function judgeRoutes(
  range: Cidr,
  networks: readonly NetworkInspectInfo[],
  routes: readonly Route[],
): { readonly isElsewhere: boolean; readonly conflict: Route | undefined } {
  // Routes of another namespace do not conflict with the engine's.
  if (areElsewhere(networks.flatMap(bridgesOf), routes)) return { isElsewhere: true, conflict: undefined }
  const own = networks.filter(network => network.Labels?.[LABEL_MANAGER] !== undefined)
  const bridges = new Set(own.map(network => network.Options?.['com.docker.network.bridge.name'] ?? ''))
  // A bridge that is just being removed or created, by us or by another agent, may be missing in the list.
  const foreign = routes.filter(route => !route.device.startsWith(BRIDGE_PREFIX))
  return { isElsewhere: false, conflict: conflictingRoute(range, foreign, bridges) }
}

export function subnetsOf({ IPAM }: NetworkInspectInfo): Cidr[] {
  return (IPAM?.Config ?? []).flatMap(({ Subnet }) => {
    const cidr = Subnet === undefined ? undefined : parseCidr(Subnet)
    return cidr ? [cidr] : []
  })
}

function bridgesOf(network: NetworkInspectInfo): Bridge[] {
  // A network between hosts has no address of the host, so no route shows where its bridge is.
  if (network.Driver !== 'bridge' || network.Options?.['com.docker.network.bridge.inhibit_ipv4'] === 'true') return []
  const name = network.Options?.['com.docker.network.bridge.name'] ?? `br-${network.Id.slice(0, 12)}`
  return subnetsOf(network).map(subnet => ({ name, subnet }))
}
