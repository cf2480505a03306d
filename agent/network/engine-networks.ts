import { type NetworkInspectInfo } from 'dockerode'
import { LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { AppError, because } from '#manager/contract'
import { type EngineClient, fromEngine, isMissing, statusOf } from '../docker/engine-client.ts'
import { BRIDGE_PREFIX, subnetsOf } from './engine-bridges.ts'
import { CLOSED_BRIDGE, LISTED_BRIDGE } from './firewall-rules.ts'
import { allocateSubnet, type Cidr, formatAddress, formatCidr, hasRoomFor } from './subnets.ts'

export interface SessionNetwork {
  readonly id: string
  readonly name: string
  /** Address of the host on the bridge. */
  readonly gateway: string
}

/** `open`: to the outside, except for addresses that the firewall blocks. `closed`: nowhere. `listed`: to the proxy on its bridge. */
export type Reach = 'open' | 'closed' | 'listed'

const PREFIXES = { open: BRIDGE_PREFIX, closed: CLOSED_BRIDGE, listed: LISTED_BRIDGE } as const
/** Largest number of characters of an interface's name. */
const LONGEST_INTERFACE = 15

/** Docker's answer when it did not create the network. */
export interface Refusal {
  readonly refused: unknown
}

/**
 * Bridges of sessions on the engine, each with a free /28 of the range. Docker's default address pools allow about 30 networks; ours allows
 * 4096. Networks of sessions without network, or with an allow list, are "internal": their containers have no route to the outside, even
 * while the rules of the firewall are missing. Other sessions may reach the outside, except for addresses that the firewall blocks.
 */
export interface EngineNetworks {
  /** Every network of the engine, ours or not. */
  all(): Promise<NetworkInspectInfo[]>
  /** Our networks on the engine, with the key under which their sessions know them. */
  list(managerId: string): Promise<{ readonly key: string; readonly id: string }[]>
  /**
   * @param present all networks of the engine
   * @param from as in `allocateSubnet`
   * @returns a refusal also if another program was faster: then try again
   * @throws `network_range_taken`
   */
  create(
    key: string,
    managerId: string,
    how: { readonly present: readonly NetworkInspectInfo[]; readonly from: number; readonly reach: Reach },
  ): Promise<SessionNetwork | Refusal>
  /** No-op if the network does not exist. */
  remove(key: string, managerId: string): Promise<void>
  /** @throws `network_range_taken` if no subnet of the range is free */
  requireSubnet(present: readonly NetworkInspectInfo[]): void
  hasRoomFor(count: number, present: readonly NetworkInspectInfo[]): boolean
}

export function createEngineNetworks(engine: EngineClient, range: Cidr): EngineNetworks {
  /** Subnets of creations in flight: Docker does not list them yet. */
  const reserved = new Set<Cidr>()

  const takenIn = (present: readonly NetworkInspectInfo[]) => [...present.flatMap(subnetsOf), ...reserved]

  function freeSubnet(present: readonly NetworkInspectInfo[], from = 0): Cidr {
    const subnet = allocateSubnet(range, takenIn(present), from)
    if (!subnet)
      throw new AppError('network_range_taken', because('network_range_used_up', { range: formatCidr(range) }))
    return subnet
  }

  async function list(managerId: string): Promise<{ key: string; id: string }[]> {
    const networks: NetworkInspectInfo[] = await engine.calls.listNetworks({
      filters: { label: [`${LABEL_MANAGER}=${managerId}`] },
    })
    return networks.flatMap(network => {
      const key = network.Labels?.[LABEL_KERNEL_ID]
      return key === undefined ? [] : [{ key, id: network.Id }]
    })
  }

  async function remove(key: string, managerId: string): Promise<void> {
    for (const { id } of (await list(managerId)).filter(network => network.key === key)) {
      await engine.calls
        .getNetwork(id)
        .remove()
        .catch((error: unknown) => {
          if (!isMissing(error)) throw error
        })
    }
  }

  return {
    all: () => engine.calls.listNetworks(),
    list,
    remove,
    requireSubnet: present => void freeSubnet(present),
    hasRoomFor: (count, present) => hasRoomFor(count, range, takenIn(present)),
    async create(key, managerId, { present, from, reach }) {
      const subnet = freeSubnet(present, from)
      reserved.add(subnet)
      const name = networkName(key)
      const gateway = formatAddress(subnet.base + 1)
      const prefix = PREFIXES[reach]
      try {
        const network = await engine.calls.createNetwork({
          Name: name,
          CheckDuplicate: true,
          Driver: 'bridge',
          Internal: reach !== 'open',
          EnableIPv6: false,
          IPAM: { Driver: 'default', Config: [{ Subnet: formatCidr(subnet), Gateway: gateway }] },
          Options: {
            'com.docker.network.bridge.name': prefix + key.slice(-Math.min(10, LONGEST_INTERFACE - prefix.length)),
          },
          Labels: { [LABEL_MANAGER]: managerId, [LABEL_KERNEL_ID]: key },
        })
        return { id: network.id, name, gateway }
      } catch (error) {
        if (!isRefusal(error)) throw error
        if (statusOf(error) === 409) await remove(key, managerId)
        return { refused: error }
      } finally {
        reserved.delete(subnet)
      }
    },
  }
}

/** Whether Docker refused to create the network. The check of the disk reports a full disk. */
const isRefusal = (error: unknown) =>
  statusOf(error) !== undefined && fromEngine(error, 'kernel_create_failed').code !== 'disk_full'

/** The network as it is on the engine; undefined if its containers can reach more, or less, than they should. */
export function asSessionNetwork(
  { Id, Internal, Options, IPAM }: NetworkInspectInfo,
  key: string,
  reach: Reach,
): SessionNetwork | undefined {
  const bridge = Options?.['com.docker.network.bridge.name'] ?? ''
  const gateway = IPAM?.Config?.[0]?.Gateway
  const isSo =
    reach === 'open'
      ? !Internal && !bridge.startsWith(CLOSED_BRIDGE) && !bridge.startsWith(LISTED_BRIDGE)
      : Internal && bridge.startsWith(PREFIXES[reach])
  return isSo && gateway !== undefined ? { id: Id, name: networkName(key), gateway } : undefined
}

/** Name of a network. It ends with the random part of the key, a UUIDv7: sessions made together share the beginning. */
export function networkName(key: string): string {
  return `berth-${key.slice(-12)}`
}
