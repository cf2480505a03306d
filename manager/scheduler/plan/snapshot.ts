import {
  addSlots,
  type AgentId,
  type ClusterMode,
  type GpuKind,
  type Reason,
  type ResourceSlots,
  type SessionId,
  type SlurmChoice,
} from '#manager/contract'
import { type DeviceSlot } from './device-slot.ts'
import { type GpuNeed } from './gpu-need.ts'
import { type Inactive, type Scope } from './limits.ts'

export { type DeviceSlot } from './device-slot.ts'

/** A device as planning sees it. Amounts are in base units of `slot`: a whole device is 1, a shared one is 100 shares. */
export interface DeviceSnapshot {
  readonly uuid: string
  readonly slot: DeviceSlot
  readonly total: number
  readonly occupied: number
  /** Properties by which sessions choose the device; left out if unknown. Sessions that name a property get no such device. */
  readonly kind?: GpuKind | undefined
}

/** A holder of slots of an agent, with the latest time at which it ends. */
export interface Occupant {
  readonly slots: ResourceSlots
  readonly devices: readonly DeviceAllocation[]
  /** Milliseconds since the epoch; null if unknown. */
  readonly latestEnd: number | null
}

export interface AgentSnapshot {
  readonly id: AgentId
  readonly name: string
  readonly capacity: ResourceSlots
  /** Sum over the kernels that hold slots here, derived by a query. */
  readonly occupied: ResourceSlots
  readonly devices: readonly DeviceSnapshot[]
  /** Digests of the images on its engine. */
  readonly images: ReadonlySet<string>
  /** Markers of the storages that are mounted on it; left out = none. */
  readonly storage?: ReadonlySet<string>
  /** Architectures of images that its engine runs; left out where unknown: any. */
  readonly architectures?: ReadonlySet<string> | undefined
  /** Address of the agent in the private network that carries sessions over several hosts; left out: it takes no part in such sessions. */
  readonly clusterAddress?: string | undefined
  /** Whether the agent keeps sessions from the network, or within an allow list; left out: it does not. */
  readonly restricts?: boolean | undefined
  /** Whether an admin lets the agent take new sessions. */
  readonly schedulable: boolean
  /** Whether the agent itself reports that no session can start there now. */
  readonly unfit?: boolean
  /** Whether the agent isolates sessions from each other and from its host. */
  readonly isolated?: boolean
  /** Whether the control connection is up, the agent's state was reconciled, and its engine answers. */
  readonly connected: boolean
  /** True if disconnected for so long that no session waits for it; left out or false: expected back in a moment. */
  readonly lost?: boolean
  /** The holders that make up `occupied`; left out if no end is known. */
  readonly occupants?: readonly Occupant[]
  /** Sequence number of the last placement here: round robin takes the agent with the smallest. Left out = never. */
  readonly turn?: number | undefined
}

/** Longest time from placement until the slots are free again. */
export interface LongestHold {
  readonly imageThereMs: number
  /** The same on an agent that has to pull the image first. */
  readonly imagePulledMs: number
}

/** A storage that holds folders of a session. */
export interface NeededStorage {
  readonly marker: string
  /** Name that admins gave it. */
  readonly name: string
}

export interface PendingSession {
  readonly id: SessionId
  readonly ownerId: string
  /** Null or left out for a session without a project. */
  readonly projectId?: string | null
  /** Milliseconds since the epoch, the database's clock. */
  readonly enqueuedAt: number
  /** Amounts for each kernel. */
  readonly requested: ResourceSlots
  /** The devices that it accepts; left out for any. */
  readonly gpu?: GpuNeed | undefined
  /** Choices of the session in Slurm, in a group that Slurm runs; `plan()` does not look at it. */
  readonly slurm?: SlurmChoice | undefined
  /** Number of kernels, each with its own devices; 1 if left out. */
  readonly clusterSize?: number | undefined
  /** Whether its kernels may be on several agents; left out: all on one. */
  readonly clusterMode?: ClusterMode | undefined
  /** Whether it must be kept from the network, or within an allow list; left out: it has the network of its host. */
  readonly restricted?: boolean | undefined
  /** Larger goes first, before the sequencer's order; 0 if left out. */
  readonly priority?: number | undefined
  /** Names of the dependencies that have not succeeded yet. */
  readonly waitsFor?: readonly string[] | undefined
  readonly imageDigest: string | null
  readonly image: string
  /** Whether a registry or another agent can give the image to an agent that lacks it. */
  readonly pullable?: boolean | undefined
  /** Processor architecture of the image, such as `amd64`; left out if unknown: any host. */
  readonly architecture?: string | undefined
  /** Storages of its folders without duplicates, ordered by marker; left out if it mounts none. */
  readonly storage?: readonly NeededStorage[] | undefined
  /** Agents on which earlier attempts failed: avoided while another agent could take the session. */
  readonly failedAgents: readonly AgentId[]
  /** The only agent that may take the session, because it has the files of its earlier run; left out if there are none. */
  readonly onlyOn?: AgentId | undefined
  /** Null or left out if unknown. */
  readonly longestHold?: LongestHold | null
  /** Keys of the scopes in `GroupSnapshot.scopes` that limit it, in the order of SCOPE_KINDS. */
  readonly scopes?: readonly string[] | undefined
  /** False: neither the owner nor the group nor the domain has access to this resource group. */
  readonly groupAllowed?: boolean | undefined
  /** The deactivated domain, group or owner of the session, if any; such a session does not start. */
  readonly inactive?: Inactive | undefined
  /** Whether it may itself be interrupted. Such a session interrupts no other one, so that interruptions never cascade. */
  readonly interruptible?: boolean | undefined
}

/** Slots that sessions of a user in a project hold together. */
export interface Holding {
  readonly ownerId: string
  readonly projectId?: string | null
  readonly slots: ResourceSlots
}

/** A session that holds slots and may release them, because it may be interrupted or is being ended anyway. */
export interface HoldingSession {
  readonly id: SessionId
  readonly agentId: AgentId
  readonly priority: number
  /** Amounts and devices of all its kernels together. */
  readonly slots: ResourceSlots
  readonly devices: readonly DeviceAllocation[]
  /** Time since its present run began, in milliseconds. */
  readonly ranMs: number
  /** `may`: may be interrupted. `announced`: its interruption is announced. `leaving`: it is being ended, whatever the cause. */
  readonly state: 'may' | 'announced' | 'leaving'
}

/**
 * The interruption in progress, at most one per group: on this agent, sessions of lower priority are stopped for this session. Capacity
 * that is free there, or becomes free, is held for it.
 */
export interface Interruption {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  /** The sessions to stop that have not been stopped yet. */
  readonly victims: readonly SessionId[]
  /** Time at which they are stopped; milliseconds since the epoch, the database's clock. */
  readonly at: number
}

/** Rules by which sessions of a group are interrupted. */
export interface InterruptionRules {
  /** A session that has run for less is not interrupted. */
  readonly minRunMs: number
  /** Time between the announcement and the stop. */
  readonly warnMs: number
}

/** Options of a resource group for planning, besides sequencer and selector. */
export interface PlanOptions {
  /** Left out: no session is interrupted. */
  readonly interruption?: InterruptionRules
  /** A session that is blocked on capacity and has waited this long gets the one reservation. */
  readonly reserveAfterMs?: number
  /** DRF: a user of weight 2 may hold twice as much as one of weight 1 (the default). By user id. */
  readonly weights?: Readonly<Record<string, number>>
  /** DRF: the same for projects, by id. If set, projects share the group, and users divide their project's share. */
  readonly projectWeights?: Readonly<Record<string, number>>
  /** Sessions start only on agents that isolate them fully. */
  readonly requireIsolation?: boolean
  /** A GPU share that no single device has free may be spread evenly over several devices. */
  readonly splitShares?: boolean
  /** Sessions over several hosts are spread over as many as possible; left out: over as few. */
  readonly spreadClusters?: boolean
}

/** State of a resource group at one time. */
export interface GroupSnapshot {
  /** Number of networks between hosts that are left for sessions over several hosts; left out: enough. */
  readonly freeHostNetworks?: number | undefined
  readonly agents: readonly AgentSnapshot[]
  readonly pending: readonly PendingSession[]
  /** Milliseconds since the epoch, the database's clock; without it, nothing counts as old enough for a reservation. */
  readonly now?: number
  /** False: an admin has closed the group; nothing starts. */
  readonly active?: boolean
  /** Text for users while the group is not active; empty without one. */
  readonly notice?: string
  readonly options?: PlanOptions
  /** Slots that sessions hold in this group now; left out if the sequencer does not need them. */
  readonly usage?: readonly Holding[]
  /** Scopes with limits, each with the amounts that its sessions hold in all resource groups. */
  readonly scopes?: ReadonlyMap<string, Scope>
  /** The reservation that the last plan made. */
  readonly reservation?: Reservation | undefined
  /** Left out if no session may be interrupted. */
  readonly holding?: readonly HoldingSession[]
  /** The interruption that the last plan made. */
  readonly interruption?: Omit<Interruption, 'victims'> | undefined
}

export interface DeviceAllocation {
  readonly uuid: string
  readonly slot: DeviceSlot
  readonly amount: number
}

export interface Placement {
  readonly sessionId: SessionId
  /** The agent of the main kernel. */
  readonly agentId: AgentId
  /** Amounts of all kernels together. */
  readonly requested: ResourceSlots
  /** Devices of all kernels together. */
  readonly devices: readonly DeviceAllocation[]
  /** The devices by kernel, the main one first; left out for a single kernel. */
  readonly kernels?: readonly (readonly DeviceAllocation[])[]
  /** The agent of each kernel, the main one first; left out if all are on one agent. */
  readonly hosts?: readonly AgentId[]
}

/** The part of a placement that is on one agent. */
export type PlacedPart = Pick<Placement, 'agentId' | 'requested' | 'devices'>

/** The parts of a placement, one for each of its agents; that of the main kernel first. */
export function partsOf({ agentId, hosts, requested, devices, kernels = [devices] }: Placement): readonly PlacedPart[] {
  if (!hosts) return [{ agentId, requested, devices }]
  const each = Object.fromEntries(Object.entries(requested).map(([slot, amount]) => [slot, amount / hosts.length]))
  const indexes = Map.groupBy(hosts.keys(), index => hosts[index] ?? agentId)
  return Array.from(indexes, ([on, own]) => ({
    agentId: on,
    requested: totalOf({ requested: each, clusterSize: own.length }),
    devices: own.flatMap(index => kernels[index] ?? []),
  }))
}

/** Amounts of all kernels of a session together. */
export function totalOf({
  requested,
  clusterSize = 1,
}: Pick<PendingSession, 'requested' | 'clusterSize'>): ResourceSlots {
  let total = requested
  for (let kernel = 1; kernel < clusterSize; kernel++) total = addSlots(total, requested)
  return total
}

/** Capacity of one agent that a reservation holds. */
export interface ReservedPart {
  readonly agentId: AgentId
  /** Number of kernels for which capacity is held. */
  readonly kernels: number
  readonly devices: readonly DeviceAllocation[]
}

/** Holds capacity that becomes free on these devices of this agent for this session. At most one per group. */
export interface Reservation {
  readonly sessionId: SessionId
  /** The agent; of several, the first one. */
  readonly agentId: AgentId
  /** The devices of all parts. */
  readonly devices: readonly DeviceAllocation[]
  /** Left out if all kernels are to be on one agent. */
  readonly parts?: readonly ReservedPart[] | undefined
}

/** The parts of a reservation, one for each agent. */
export const reservedParts = (
  { agentId, devices, parts }: Reservation,
  { clusterSize: kernels = 1 }: Pick<PendingSession, 'clusterSize'>,
): readonly ReservedPart[] => parts ?? [{ agentId, devices, kernels }]

export interface Plan {
  readonly placements: readonly Placement[]
  /** Reason of each session that stays pending. */
  readonly reasons: ReadonlyMap<SessionId, Reason>
  /** The sessions that stay pending, next first. */
  readonly queue: readonly SessionId[]
  readonly reservation: Reservation | undefined
  readonly interruption: Interruption | undefined
}

/** Decides which session is tried next. Deterministic: equal input gives equal output. */
export interface Sequencer {
  /** Whether a session may hold capacity after `reserveAfterMs`. */
  readonly reserves: boolean
  /** @param capacity of the whole group */
  start(snapshot: GroupSnapshot, capacity: ResourceSlots): Queue
}

export interface Queue {
  /** Each pending session exactly once. */
  next(): PendingSession | undefined
  /** Call when the session last returned by `next` has been placed. */
  placed(session: PendingSession): void
}
