import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type NetworkInspectInfo } from 'dockerode'
import { createKeyedMutex } from '#base/mutex'
import { LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { AppError, type Because, because, causeIn } from '#manager/contract'
import { type EngineClient, engineMessage, fromEngine, isMissing, statusOf } from '../docker/engine-client.ts'
import {
  allocateSubnet,
  areElsewhere,
  type Bridge,
  type Cidr,
  conflictingRoute,
  formatAddress,
  formatCidr,
  hasRoomFor,
  parseCidr,
  parseRoutes,
} from './subnets.ts'

/** Prefix of every bridge of Berth, so that people and firewalls can recognize it. A name has at most 15 characters. */
const BRIDGE_PREFIX = 'berth'
/** Another agent on this engine, or another program, may take a subnet between our look and our call. */
const ATTEMPTS = 8
/**
 * Networks are created ahead only while the range has this many /28 that no session uses, ready ones included: they take no address
 * that a session may need.
 */
const SPARE_SUBNETS = 16

export interface SessionNetwork {
  readonly id: string
  readonly name: string
}

/** `short`: the sessions may soon need all of the range. `refused`: another program was quicker; a later call may succeed. */
export type AheadOutcome = 'created' | 'short' | 'refused'

export interface SessionNetworks {
  /**
   * Provides the bridge of the session. An existing bridge is shared with the kernels that made it, or was created ahead for this
   * kernel; any other bridge of this name is a left-over, and is replaced.
   * @throws `network_range_taken`; `kernel_create_failed` if Docker refuses; then `problem` is set until Docker makes a network again
   */
  create(member: NetworkMember, managerId: string): Promise<SessionNetwork>
  /**
   * Creates a bridge for a session to come, under a new key.
   * @param ready number of networks that were created ahead and are empty
   */
  createAhead(key: string, managerId: string, ready: number): Promise<AheadOutcome>
  /** Whether the range has room for the sessions to come beside so many networks created ahead. */
  hasRoomAhead(ready: number): Promise<boolean>
  /**
   * No-op if the network does not exist.
   * @param isUsed asked when no other operation on this network is in flight; true leaves it alone
   */
  remove(key: string, managerId: string, isUsed: () => boolean): Promise<void>
  /** Checks that the range is free for sessions on this host. @throws `network_range_taken` */
  checkRange(): Promise<void>
  /** Reason why no session can get a network now, according to the last creation or look; null if sessions can get one. */
  readonly problem: Because | null
  /** The engine's bridges are in another network namespace than this process: its firewall and connections do not reach them. */
  readonly isElsewhere: boolean
  /** Updates `problem` and `isElsewhere`; both stay as they are if the engine does not answer. */
  look(): Promise<void>
  /** Our networks on the engine, with the key under which their sessions know them. */
  list(managerId: string): Promise<{ readonly key: string; readonly id: string }[]>
}

/** Docker's answer to the last try, where it made no network. */
interface Refusal {
  readonly refused: unknown
}

/** The part of a kernel that its network depends on. */
export interface NetworkMember {
  readonly kernelId: string
  readonly sessionId: string
  readonly clusterSize?: number | undefined
  /** Key of the network that was created ahead and is this kernel's now. */
  readonly network?: string | undefined
}

/**
 * Key of a network: kernels of one session share a network; for a session with one kernel the key is the kernel's id, unless the
 * network is older than the kernel.
 */
export function networkKeyOf(member: NetworkMember): string {
  return member.network ?? (isShared(member) ? member.sessionId : member.kernelId)
}

const isShared = ({ clusterSize = 1 }: NetworkMember) => clusterSize > 1

/**
 * Each session has a bridge and a /28 of its own. Docker's default address pools end after about 30 networks; ours hold 4096. Not
 * "internal": sessions may reach the outside. The firewall decides what they may not reach.
 */
export function createSessionNetworks(
  engine: EngineClient,
  { range, onChange }: { readonly range: Cidr; readonly onChange: () => void },
): SessionNetworks {
  /** Subnets of creations in flight: Docker does not list them yet. */
  const reserved = new Set<Cidr>()
  /** Serializes kernels of one session joining and leaving. */
  const inTurn = createKeyedMutex()
  let problem: Because | null = null
  /** The manager for whose session Docker refused a network; undefined while Docker makes networks. */
  let refusedFor: string | undefined
  let isElsewhere = false

  function note(found: { problem?: Because | null; isElsewhere?: boolean }): void {
    const before = [problem?.why, isElsewhere]
    problem = found.problem === undefined ? problem : found.problem
    isElsewhere = found.isElsewhere ?? isElsewhere
    if (before[0] !== problem?.why || before[1] !== isElsewhere) onChange()
  }

  /** Passes the outcome of the work on. `network_range_taken` is remembered as the problem; a success clears it. */
  async function noting<T>(work: Promise<T>): Promise<T> {
    try {
      const value = await work
      refusedFor = undefined
      note({ problem: null })
      return value
    } catch (error) {
      if (error instanceof AppError && error.code === 'network_range_taken')
        note({ problem: causeIn(error.detail) ?? null })
      throw error
    }
  }

  async function listUsable(): Promise<NetworkInspectInfo[]> {
    const networks: NetworkInspectInfo[] = await engine.calls.listNetworks()
    await refuseForeignRoutes(networks)
    return networks
  }

  function freeSubnet(taken: readonly Cidr[], from = 0): Cidr {
    const subnet = allocateSubnet(range, [...taken, ...reserved], from)
    if (!subnet)
      throw new AppError('network_range_taken', because('network_range_used_up', { range: formatCidr(range) }))
    return subnet
  }

  async function refuseForeignRoutes(networks: readonly NetworkInspectInfo[]): Promise<void> {
    const own = networks.filter(network => network.Labels?.[LABEL_MANAGER] !== undefined)
    const bridges = new Set(own.map(network => network.Options?.['com.docker.network.bridge.name'] ?? ''))
    const table = await readFile('/proc/net/route', 'utf8').catch(() => '')
    // A bridge that is just being removed or made, by us or by another agent, may be missing in the list.
    const all = parseRoutes(table)
    note({ isElsewhere: areElsewhere(networks.flatMap(bridgesOf), all) })
    // Routes of another namespace do not conflict with the engine's.
    if (isElsewhere) return
    const routes = all.filter(route => !route.device.startsWith(BRIDGE_PREFIX))
    const route = conflictingRoute(range, routes, bridges)
    if (!route) return
    throw new AppError(
      'network_range_taken',
      because('network_range_overlaps', {
        range: formatCidr(range),
        route: formatCidr(route.destination),
        device: route.device,
      }),
    )
  }

  /**
   * @param from as in `allocateSubnet`
   * @returns a refusal also if another program was quicker: try again
   */
  async function tryCreate(
    key: string,
    managerId: string,
    present: readonly NetworkInspectInfo[],
    from: number,
  ): Promise<SessionNetwork | Refusal> {
    const subnet = freeSubnet(present.flatMap(subnetsOf), from)
    reserved.add(subnet)
    const name = networkName(key)
    try {
      const network = await engine.calls.createNetwork({
        Name: name,
        CheckDuplicate: true,
        Driver: 'bridge',
        EnableIPv6: false,
        IPAM: { Driver: 'default', Config: [{ Subnet: formatCidr(subnet), Gateway: formatAddress(subnet.base + 1) }] },
        Options: { 'com.docker.network.bridge.name': BRIDGE_PREFIX + key.slice(-10) },
        Labels: { [LABEL_MANAGER]: managerId, [LABEL_KERNEL_ID]: key },
      })
      return { id: network.id, name }
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (statusOf(error) === 409) await removeByKey(key, managerId)
      return { refused: error }
    } finally {
      reserved.delete(subnet)
    }
  }

  /**
   * Creates a network in a free subnet, unless `look` finds its answer in the networks that exist.
   * @returns the look's answer, or the new network; the last refusal if Docker refused every try
   */
  async function createUnless<T>(
    key: string,
    managerId: string,
    answerOf: (present: readonly NetworkInspectInfo[]) => T | undefined,
  ): Promise<T | SessionNetwork | Refusal> {
    for (let attempt = 1; ; attempt++) {
      const present = await listUsable()
      const answer = answerOf(present)
      if (answer !== undefined) return answer
      // Another agent with this range looks for the first free subnet as we do: after a refusal we search from another place.
      const made = await tryCreate(key, managerId, present, attempt === 1 ? 0 : Math.random())
      if (!('refused' in made) || attempt === ATTEMPTS || !isPassing(made.refused)) return made
    }
  }

  async function removeByKey(key: string, managerId: string): Promise<void> {
    for (const { id } of (await list(managerId)).filter(network => network.key === key)) {
      await engine.calls
        .getNetwork(id)
        .remove()
        .catch((error: unknown) => {
          if (!isMissing(error)) throw error
        })
    }
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

  async function create(member: NetworkMember, managerId: string): Promise<SessionNetwork> {
    const key = networkKeyOf(member)
    const mayExist = isShared(member) || member.network !== undefined
    const network = await createUnless(key, managerId, present => {
      const found = mayExist ? present.find(isNetworkOf(key, managerId)) : undefined
      return found && { id: found.Id, name: networkName(key) }
    })
    return unlessRefused(network, managerId)
  }

  /** Nothing in a network comes from a user, so a refusal is a fault of the host. */
  function unlessRefused(made: SessionNetwork | Refusal, managerId: string): SessionNetwork {
    if (!('refused' in made)) return made
    refusedFor = managerId
    note({ problem: because('docker_makes_no_networks', { text: engineMessage(made.refused) }) })
    throw new AppError('kernel_create_failed', because('docker_refused_networks'), { cause: made.refused })
  }

  /** Asks Docker for a network and gives it back. A network that a killed agent leaves here has no kernel, so that the sweep removes it. */
  async function tryOne(managerId: string): Promise<void> {
    const key = randomUUID()
    try {
      await create({ kernelId: key, sessionId: key }, managerId)
    } finally {
      await removeByKey(key, managerId)
    }
  }

  async function createAhead(key: string, managerId: string, ready: number): Promise<AheadOutcome> {
    const isShort = (present: readonly NetworkInspectInfo[]) => !isRoomAhead(present, ready)
    const made = await createUnless(key, managerId, present => (isShort(present) ? 'short' : undefined))
    if (made === 'short') return made
    if (!('refused' in made)) return 'created'
    // Another program may have been quicker; everything else is for the log.
    if (!isPassing(made.refused)) throw made.refused
    return 'refused'
  }

  function isRoomAhead(present: readonly NetworkInspectInfo[], ready: number): boolean {
    return hasRoomFor(SPARE_SUBNETS - ready, range, [...present.flatMap(subnetsOf), ...reserved])
  }

  async function look(): Promise<void> {
    // A taken range is recorded as the problem; an engine that does not answer is noticed elsewhere.
    const works =
      refusedFor === undefined
        ? listUsable().then(present => freeSubnet(present.flatMap(subnetsOf)))
        : tryOne(refusedFor)
    await noting<unknown>(works).catch(() => undefined)
  }

  return {
    create: (member, managerId) => inTurn(networkKeyOf(member), () => noting(create(member, managerId))),
    createAhead: (key, managerId, ready) => inTurn(key, () => createAhead(key, managerId, ready)),
    hasRoomAhead: async ready => isRoomAhead(await listUsable(), ready),
    remove: (key, managerId, isUsed) =>
      inTurn(key, async () => {
        if (!isUsed()) await removeByKey(key, managerId)
        if (problem !== null) await look()
      }),
    checkRange: async () => refuseForeignRoutes(await engine.calls.listNetworks()),
    get problem() {
      return problem
    },
    get isElsewhere() {
      return isElsewhere
    },
    look,
    list,
  }
}

/** Whether Docker refused to create such a network. A full disk is reported by the code that looks at the disk. */
const isRefusal = (error: unknown) =>
  statusOf(error) !== undefined && fromEngine(error, 'kernel_create_failed').code !== 'disk_full'

/** 403: "Pool overlaps with other one on this address space"; 409: a network of this name is left over. */
const isPassing = (error: unknown) => [403, 409].includes(statusOf(error) ?? 0)

function isNetworkOf(key: string, managerId: string) {
  return ({ Labels }: NetworkInspectInfo) => Labels?.[LABEL_KERNEL_ID] === key && Labels[LABEL_MANAGER] === managerId
}

function subnetsOf({ IPAM }: NetworkInspectInfo): Cidr[] {
  return (IPAM?.Config ?? []).flatMap(({ Subnet }) => {
    const cidr = Subnet === undefined ? undefined : parseCidr(Subnet)
    return cidr ? [cidr] : []
  })
}

function bridgesOf(network: NetworkInspectInfo): Bridge[] {
  if (network.Driver !== 'bridge') return []
  const name = network.Options?.['com.docker.network.bridge.name'] ?? `br-${network.Id.slice(0, 12)}`
  return subnetsOf(network).map(subnet => ({ name, subnet }))
}

/** Name of a network. It ends with the random part of the key, a UUIDv7: sessions made together share the beginning. */
export function networkName(key: string): string {
  return `berth-${key.slice(-12)}`
}
