import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type NetworkInspectInfo } from 'dockerode'
import { createKeyedMutex } from '#base/mutex'
import { LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { AppError, type Because, because, causeIn } from '#manager/contract'
import { type EngineClient, engineMessage, statusOf } from '../docker/engine-client.ts'
import { judgeRoutes } from './engine-bridges.ts'
import {
  asSessionNetwork,
  createEngineNetworks,
  type Reach,
  type Refusal,
  type SessionNetwork,
} from './engine-networks.ts'
import { type Cidr, formatCidr, parseRoutes } from './subnets.ts'

/** Number of attempts: another agent on this engine, or another program, may take a subnet between our check and our call. */
const ATTEMPTS = 8
/**
 * Networks are created ahead only while the range has this many /28 that no session uses, including the ready ones, so that they take no
 * address that a session may need.
 */
const SPARE_SUBNETS = 16

/** `short`: the sessions may soon need all of the range. `refused`: another program was faster; a later call may succeed. */
export type AheadOutcome = 'created' | 'short' | 'refused'

export interface SessionNetworks {
  /**
   * Provides the bridge of the session. An existing bridge is shared with the kernels that made it, or was created ahead for this
   * kernel; any other bridge of this name is a left-over, and is replaced. So is one with another reach than the session's.
   * @throws `network_range_taken`; `kernel_create_failed` if Docker refuses; then `problem` is set until Docker makes a network again
   */
  create(member: NetworkMember, managerId: string): Promise<SessionNetwork>
  /**
   * Creates a bridge for a future session, under a new key.
   * @param ready number of networks that were created ahead and are empty
   */
  createAhead(key: string, managerId: string, ready: number): Promise<AheadOutcome>
  /** Whether the range has space for future sessions besides this many networks created ahead. */
  hasRoomAhead(ready: number): Promise<boolean>
  /**
   * No-op if the network does not exist. @param isUsed called when no other operation on this network is in flight; if it returns true, the
   * network stays
   */
  remove(key: string, managerId: string, isUsed: () => boolean): Promise<void>
  /** Checks that the range is free for sessions on this host. @throws `network_range_taken` */
  checkRange(): Promise<void>
  /** Reason why no session can get a network now, according to the last creation or look; null if sessions can get one. */
  readonly problem: Because | null
  /** The engine's bridges are in another network namespace than this process: its firewall and connections do not reach them. */
  readonly isElsewhere: boolean
  /** Updates `problem` and `isElsewhere`; both stay as they are if the engine does not answer. */
  check(): Promise<void>
  /** Our networks on the engine, with the key under which their sessions know them. */
  list(managerId: string): Promise<{ readonly key: string; readonly id: string }[]>
}

/** The part of a kernel that its network depends on. */
export interface NetworkMember {
  readonly kernelId: string
  readonly sessionId: string
  readonly clusterSize?: number | undefined
  /** Key of a network that was created ahead and given to this kernel. */
  readonly network?: string | undefined
  /** Names that the session may reach; an empty list: nothing; left out: everything. */
  readonly allowedNames?: readonly string[] | undefined
}

/** The reach of the session's network: what the engine and the firewall let its containers connect to. */
export function reachOf({ allowedNames }: Pick<NetworkMember, 'allowedNames'>): Reach {
  if (allowedNames === undefined) return 'open'
  return allowedNames.length === 0 ? 'closed' : 'listed'
}

/**
 * Key of a network: kernels of one session share a network; for a session with one kernel the key is the kernel's id, unless the
 * network is older than the kernel.
 */
export function networkKeyOf(member: NetworkMember): string {
  return member.network ?? (isShared(member) ? member.sessionId : member.kernelId)
}

const isShared = ({ clusterSize = 1 }: NetworkMember) => clusterSize > 1

/** Each session has its own bridge and /28. */
export function createSessionNetworks(
  engine: EngineClient,
  { range, onChange }: { readonly range: Cidr; readonly onChange: () => void },
): SessionNetworks {
  const onEngine = createEngineNetworks(engine, range)
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

  /** Passes the result of the work on. `network_range_taken` is remembered as the problem; a success clears it. */
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
    const networks = await onEngine.all()
    const routes = parseRoutes(await readFile('/proc/net/route', 'utf8').catch(() => ''))
    const found = judgeRoutes(range, networks, routes)
    note({ isElsewhere: found.isElsewhere })
    if (!found.conflict) return networks
    const { destination, device } = found.conflict
    const route = formatCidr(destination)
    throw new AppError(
      'network_range_taken',
      because('network_range_overlaps', { range: formatCidr(range), route, device }),
    )
  }

  /**
   * Creates a network in a free subnet, unless `look` finds an answer among the existing networks.
   * @returns the look's answer, or the new network; the last refusal if Docker refused every try
   */
  async function createUnless<T>(
    key: string,
    managerId: string,
    answerOf: (present: readonly NetworkInspectInfo[]) => T | undefined,
    reach: Reach = 'open',
  ): Promise<T | SessionNetwork | Refusal> {
    for (let attempt = 1; ; attempt++) {
      const present = await listUsable()
      const answer = answerOf(present)
      if (answer !== undefined) return answer
      // Another agent with this range searches for the first free subnet as we do, so after a refusal search from another position.
      const made = await onEngine.create(key, managerId, { present, reach, from: attempt === 1 ? 0 : Math.random() })
      if (!('refused' in made) || attempt === ATTEMPTS || !isPassing(made.refused)) return made
    }
  }

  async function create(member: NetworkMember, managerId: string): Promise<SessionNetwork> {
    const key = networkKeyOf(member)
    const mayExist = isShared(member) || member.network !== undefined
    const reach = reachOf(member)
    const isThere = (present: readonly NetworkInspectInfo[]) => {
      const found = mayExist ? present.find(isNetworkOf(key, managerId)) : undefined
      return found && asSessionNetwork(found, key, reach)
    }
    const network = await createUnless(key, managerId, isThere, reach)
    return unlessRefused(network, managerId)
  }

  /** A network contains no user data, so a refusal is a fault of the host. */
  function unlessRefused(made: SessionNetwork | Refusal, managerId: string): SessionNetwork {
    if (!('refused' in made)) return made
    refusedFor = managerId
    note({ problem: because('docker_makes_no_networks', { text: engineMessage(made.refused) }) })
    throw new AppError('kernel_create_failed', because('docker_refused_networks'), { cause: made.refused })
  }

  /** Creates a test network and removes it. If the agent is killed in between, the sweep removes the network, because it has no kernel. */
  async function tryOne(managerId: string): Promise<void> {
    const key = randomUUID()
    try {
      await create({ kernelId: key, sessionId: key }, managerId)
    } finally {
      await onEngine.remove(key, managerId)
    }
  }

  async function createAhead(key: string, managerId: string, ready: number): Promise<AheadOutcome> {
    const isShort = (present: readonly NetworkInspectInfo[]) => !isRoomAhead(present, ready)
    const made = await createUnless(key, managerId, present => (isShort(present) ? 'short' : undefined))
    if (made === 'short') return made
    if (!('refused' in made)) return 'created'
    // Another program may have been faster; all other errors are for the log.
    if (!isPassing(made.refused)) throw made.refused
    return 'refused'
  }

  const isRoomAhead = (present: readonly NetworkInspectInfo[], ready: number) =>
    onEngine.hasRoomFor(SPARE_SUBNETS - ready, present)

  async function check(): Promise<void> {
    // A taken range is recorded as the problem; an engine that does not answer is noticed elsewhere.
    const works =
      refusedFor === undefined ? listUsable().then(present => onEngine.requireSubnet(present)) : tryOne(refusedFor)
    await noting<unknown>(works).catch(() => undefined)
  }

  return {
    create: (member, managerId) => inTurn(networkKeyOf(member), () => noting(create(member, managerId))),
    createAhead: (key, managerId, ready) => inTurn(key, () => createAhead(key, managerId, ready)),
    hasRoomAhead: async ready => isRoomAhead(await listUsable(), ready),
    remove: (key, managerId, isUsed) =>
      inTurn(key, async () => {
        if (!isUsed()) await onEngine.remove(key, managerId)
        if (problem !== null) await check()
      }),
    checkRange: async () => void (await listUsable()),
    get problem() {
      return problem
    },
    get isElsewhere() {
      return isElsewhere
    },
    check,
    list: managerId => onEngine.list(managerId),
  }
}

/** 403: "Pool overlaps with other one on this address space"; 409: a network of this name is left over. */
const isPassing = (error: unknown) => [403, 409].includes(statusOf(error) ?? 0)

function isNetworkOf(key: string, managerId: string) {
  return ({ Labels }: NetworkInspectInfo) => Labels?.[LABEL_KERNEL_ID] === key && Labels[LABEL_MANAGER] === managerId
}
