import { networkInterfaces } from 'node:os'
import { type NetworkInspectInfo } from 'dockerode'
import { createKeyedMutex } from '#base/mutex'
import { type ClusterNetwork, LABEL_MANAGER } from '#agent/contract'
import { AppError, type Because, because, becauseOf } from '#manager/contract'
import { type EngineClient, isMissing } from '../docker/engine-client.ts'
import { type Log } from '../log.ts'
import { type Firewall } from './firewall.ts'
import { formatAddress, parseCidr } from './subnets.ts'
import { CLUSTER_MTU, createVxlan, type Vxlan } from './vxlan.ts'

/** Number of a network between hosts, on the network of the engine that is its part here. */
export const LABEL_CLUSTER = 'berth.cluster'
/** Session and attempt of that network. */
const LABEL_SESSION = 'berth.cluster-session'
const BRIDGE_PREFIX = 'berthx'

/** The part of a kernel that its network between hosts depends on. */
export interface ClusterMember {
  readonly managerId: string
  readonly sessionId: string
  /** Another attempt has other hosts, and may have the same number. */
  readonly attempt: number
  readonly role: string
  readonly cluster?: ClusterNetwork | undefined
}

/**
 * Networks of sessions over several hosts. Each is a bridge without an address of the host, an internal network for the engine, joined with
 * the bridges of the same session on other hosts by VXLAN with static forwarding (ADR 96).
 *
 * Threat model: VXLAN has no authentication, so whoever can send to its port could send frames into any session. The firewall admits only
 * the hosts of present sessions, and lets no program of this host or of a container send from here. Hosts of one session are trusted with
 * the frames of that session, and the private network to carry only the sender addresses of its hosts. Without an address that the
 * administrator named, or without a complete firewall, the agent takes no part.
 */
export interface ClusterNetworks {
  /** Address in the private network; undefined while the agent takes no part. */
  readonly address: string | undefined
  /** Reason why an address that was named is not used; null if there is none. */
  readonly problem: Because | null
  /**
   * Addresses of hosts that the firewall admits; undefined if nothing needs protection.
   * @throws if this host takes part and its links cannot be listed
   */
  peers(): Promise<readonly string[] | undefined>
  /** Provides the network of the session on this host. @throws AppError `unavailable`, `kernel_create_failed` */
  join(member: ClusterMember): Promise<void>
  /** Connects a container, before it starts, to the network of its session. */
  attach(containerId: string, member: ClusterMember): Promise<void>
  /** @param isUsed as in `SessionNetworks.remove` */
  leave(member: ClusterMember, isUsed: () => boolean): Promise<void>
  /** Removes networks that no kernel uses any more. */
  sweep(managerId: string, isUsed: (id: number) => boolean): Promise<void>
}

export interface ClusterNetworksDeps {
  readonly engine: EngineClient
  /** The address that the administrator has named; undefined: the agent takes no part. */
  readonly address: string | undefined
  readonly firewall: () => Pick<Firewall, 'state' | 'apply'>
  readonly isEngineElsewhere: () => boolean
  readonly log: Log
  readonly vxlan?: Vxlan
}

export async function openClusterNetworks(deps: ClusterNetworksDeps): Promise<ClusterNetworks> {
  const { engine, address: named, firewall, log, vxlan = createVxlan() } = deps
  const inTurn = createKeyedMutex()
  const unable = named === undefined ? null : await checkHost(named, vxlan)
  if (unable) log.warn({ reason: unable.why }, 'this host takes no part in sessions over several hosts')

  const problem = () => {
    if (named === undefined || unable) return unable
    if (deps.isEngineElsewhere()) return because('engine_elsewhere')
    return firewall().state.reason
  }
  const address = () => (problem() === null ? named : undefined)

  async function listOn(id: number): Promise<NetworkInspectInfo[]> {
    return engine.calls.listNetworks({ filters: { label: [`${LABEL_CLUSTER}=${id}`] } })
  }

  async function removeNetwork(id: number): Promise<void> {
    await vxlan.remove(id)
    for (const { Id } of await listOn(id)) {
      await engine.calls
        .getNetwork(Id)
        .remove()
        .catch((error: unknown) => {
          if (!isMissing(error)) throw error
        })
    }
    await firewall().apply()
  }

  async function provide({ managerId, sessionId, attempt, role, cluster }: Joining): Promise<void> {
    const { id, kernels } = cluster
    const local = address()
    if (local === undefined || kernels.find(one => one.role === role)?.host !== local)
      throw new AppError('unavailable', because('host_left_private_network'))
    const [found] = await listOn(id)
    const bridge = bridgeOf(id)
    const whose = `${sessionId}/${attempt}`
    // An agent that was killed may have made the network, but not opened its link.
    if (found?.Labels?.[LABEL_SESSION] === whose) return vxlan.open({ id, bridge })
    if (found) await removeNetwork(id)
    const remote = kernels
      .filter(({ host }) => host !== local)
      .map(one => ({ mac: macOf(one.address), host: one.host }))
    await vxlan.prepare({ id, local, bridge, remote })
    await firewall().apply()
    if (address() === undefined) {
      await vxlan.remove(id)
      throw new AppError('unavailable', because('host_left_private_network'))
    }
    await engine.calls.createNetwork({
      Name: nameOf(id),
      CheckDuplicate: true,
      Driver: 'bridge',
      // No route leads in or out, and no address of the host is on it.
      Internal: true,
      EnableIPv6: false,
      IPAM: { Driver: 'default', Config: [{ Subnet: cluster.subnet, Gateway: gatewayOf(cluster.subnet) }] },
      Options: {
        'com.docker.network.bridge.name': bridge,
        'com.docker.network.bridge.inhibit_ipv4': 'true',
        'com.docker.network.bridge.enable_ip_masquerade': 'false',
        'com.docker.network.driver.mtu': String(CLUSTER_MTU),
      },
      Labels: { [LABEL_MANAGER]: managerId, [LABEL_CLUSTER]: String(id), [LABEL_SESSION]: whose },
    })
    await vxlan.open({ id, bridge })
  }

  return {
    get address() {
      return address()
    },
    get problem() {
      return problem()
    },
    async peers() {
      const found = await vxlan.peers().catch((error: unknown) => {
        if (named !== undefined && unable === null) throw error
        return []
      })
      // Links of sessions that started before the address was taken away are protected until these sessions end.
      return named === undefined && found.length === 0 ? undefined : found
    },
    async join(member) {
      if (!isJoining(member)) return
      const { id } = member.cluster
      await inTurn(String(id), () =>
        provide(member).catch(async (error: unknown) => {
          if (!(error instanceof AppError)) await removeNetwork(id)
          throw error
        }),
      )
    },
    async attach(Container, { role, cluster }) {
      const own = cluster?.kernels.find(one => one.role === role)
      if (!cluster || !own) return
      const EndpointConfig = { IPAMConfig: { IPv4Address: own.address }, MacAddress: macOf(own.address) }
      await engine.calls.getNetwork(nameOf(cluster.id)).connect({ Container, EndpointConfig })
    },
    async leave({ cluster }, isUsed) {
      if (!cluster) return
      await inTurn(String(cluster.id), async () => {
        if (!isUsed()) await removeNetwork(cluster.id)
      })
    },
    async sweep(managerId, isUsed) {
      const networks: NetworkInspectInfo[] = await engine.calls.listNetworks({
        filters: { label: [LABEL_CLUSTER, `${LABEL_MANAGER}=${managerId}`] },
      })
      // The firewall admits the hosts of each link, also of one whose agent was killed before it made the network.
      const loose = await vxlan.loose().catch(() => [])
      const ids = new Set([...networks.map(({ Labels }) => Number(Labels?.[LABEL_CLUSTER])), ...loose])
      for (const id of ids) {
        if (!Number.isInteger(id) || isUsed(id)) continue
        await inTurn(String(id), async () => {
          if (!isUsed(id)) await removeNetwork(id)
        })
      }
    },
  }
}

type Joining = ClusterMember & { readonly cluster: ClusterNetwork }
const isJoining = (member: ClusterMember): member is Joining => member.cluster !== undefined

/** @returns why this host cannot take part; null if it can */
async function checkHost(address: string, vxlan: Vxlan): Promise<Because | null> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return because('cluster_needs_root')
  const own = Object.values(networkInterfaces()).flatMap(all => all ?? [])
  if (!own.some(one => one.address === address && !one.internal))
    return because('cluster_address_not_here', { address })
  try {
    await vxlan.probe(address)
    return null
  } catch (error) {
    return becauseOf(error) ?? because('no_vxlan', { text: String(error) })
  }
}

const nameOf = (id: number) => `berth-cluster-${id.toString(16)}`
const bridgeOf = (id: number) => `${BRIDGE_PREFIX}${id.toString(16)}`

/** The first address of the subnet, which the engine wants to know; nobody has it. */
function gatewayOf(subnet: string): string {
  const cidr = parseCidr(subnet)
  if (!cidr) throw new Error(`${subnet} is no subnet`)
  return formatAddress(cidr.base + 1)
}

/** Hardware address of a kernel, by its address: every host knows it without asking. Docker's own rule for addresses. */
function macOf(address: string): string {
  return ['02', '42', ...address.split('.').map(part => Number(part).toString(16).padStart(2, '0'))].join(':')
}
