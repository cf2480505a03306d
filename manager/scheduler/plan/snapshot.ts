import { addSlots, type AgentId, type Reason, type ResourceSlots, type SessionId } from '#manager/contract'
import { type Inactive, type Scope } from './limits.ts'

/** The two ways in which a physical GPU is given out. */
export type DeviceSlot = 'cuda.device' | 'cuda.shares'

/** A device as planning sees it. Amounts in base units of `slot`: a whole device is 1, a shared one is 100 shares. */
export interface DeviceSnapshot {
  readonly uuid: string
  readonly slot: DeviceSlot
  readonly total: number
  readonly occupied: number
}

/** Something that holds slots of an agent, and until when at the latest (milliseconds since the epoch). */
export interface Occupant {
  readonly slots: ResourceSlots
  readonly devices: readonly DeviceAllocation[]
  /** Null where nobody knows. */
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
  /** An admin lets it take new sessions. */
  readonly schedulable: boolean
  /** It says itself that no session can start there now. */
  readonly unfit?: boolean
  /** It keeps sessions off each other and off its host. */
  readonly isolated?: boolean
  /** Its control connection is up, its state was reconciled, and its engine answers. */
  readonly connected: boolean
  /** It has not been connected for so long that nobody waits for it; left out or false: it is back in a moment. */
  readonly lost?: boolean
  /** Who makes up `occupied`; left out where no end is known. */
  readonly occupants?: readonly Occupant[]
  /** Larger = got a session later; for round robin. Left out = never. */
  readonly turn?: number | undefined
}

/** From being placed to its slots being free again, at the longest. */
export interface LongestHold {
  readonly imageThereMs: number
  /** On an agent that has to pull the image first. */
  readonly imagePulledMs: number
}

export interface PendingSession {
  readonly id: SessionId
  readonly ownerId: string
  /** Milliseconds since the epoch, the database's clock. */
  readonly enqueuedAt: number
  /** Of each kernel. */
  readonly requested: ResourceSlots
  /** Kernels, all on one agent, each with devices of its own; 1 if left out. */
  readonly clusterSize?: number | undefined
  /** Larger goes first, before the sequencer's order; 0 if left out. */
  readonly priority?: number | undefined
  /** Names of the sessions that must end well first and have not ended yet. */
  readonly waitsFor?: readonly string[] | undefined
  readonly imageDigest: string | null
  readonly image: string
  /** A registry offers it: an agent that does not hold it pulls it. */
  readonly pullable?: boolean | undefined
  /** Agents on which earlier attempts failed: avoided while another agent could take the session. */
  readonly failedAgents: readonly AgentId[]
  /** The agent that has the files it goes on with; left out where it has none to go on with. */
  readonly onlyOn?: AgentId | undefined
  /** Null or left out where nobody knows. */
  readonly longestHold?: LongestHold | null
  /** Keys of `GroupSnapshot.scopes` that limit it, in the order of SCOPE_KINDS. */
  readonly scopes?: readonly string[] | undefined
  /** False: whom it is for may not use this resource group (any more). */
  readonly groupAllowed?: boolean | undefined
  /** What of it an admin has deactivated: nothing of that starts. */
  readonly inactive?: Inactive | undefined
}

/** How a resource group plans, beside sequencer and selector. */
export interface PlanOptions {
  /** A session that is blocked on capacity and has waited this long gets the one reservation. */
  readonly reserveAfterMs?: number
  /** DRF: a user of weight 2 may hold twice as much as one of weight 1 (the default). By user id. */
  readonly weights?: Readonly<Record<string, number>>
  /** Only agents that isolate sessions fully take any. */
  readonly requireIsolation?: boolean
  /** A part of a GPU that no single device has free may be spread evenly over several. */
  readonly splitShares?: boolean
}

/** One resource group at one moment. */
export interface GroupSnapshot {
  readonly agents: readonly AgentSnapshot[]
  readonly pending: readonly PendingSession[]
  /** Milliseconds since the epoch, the database's clock; without it nothing is old enough to be reserved for. */
  readonly now?: number
  /** False: an admin has closed the group; nothing starts. */
  readonly active?: boolean
  readonly options?: PlanOptions
  /** What each user's sessions hold in this group now, by user id. */
  readonly usage?: ReadonlyMap<string, ResourceSlots>
  /** Who has limits, with what their sessions hold in all resource groups. */
  readonly scopes?: ReadonlyMap<string, Scope>
  /** The one that the last plan left. */
  readonly reservation?: Reservation | undefined
}

export interface DeviceAllocation {
  readonly uuid: string
  readonly slot: DeviceSlot
  readonly amount: number
}

export interface Placement {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  /** Of all kernels together. */
  readonly requested: ResourceSlots
  /** Of all kernels together. */
  readonly devices: readonly DeviceAllocation[]
  /** The same by kernel, the main one first; left out where there is one. */
  readonly kernels?: readonly (readonly DeviceAllocation[])[]
}

/** What all kernels of a session take together. */
export function totalOf({
  requested,
  clusterSize = 1,
}: Pick<PendingSession, 'requested' | 'clusterSize'>): ResourceSlots {
  let total = requested
  for (let kernel = 1; kernel < clusterSize; kernel++) total = addSlots(total, requested)
  return total
}

/** What becomes free on this agent is held for this session, on these devices. At most one per group. */
export interface Reservation {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly devices: readonly DeviceAllocation[]
}

export interface Plan {
  readonly placements: readonly Placement[]
  /** Why each session that stays pending does so. */
  readonly reasons: ReadonlyMap<SessionId, Reason>
  /** The sessions that stay pending, next first. */
  readonly queue: readonly SessionId[]
  readonly reservation: Reservation | undefined
}

/** Says who is tried next. Must be total: equal input gives equal output. */
export interface Sequencer {
  /** Whether a session may hold capacity after `reserveAfterMs`. */
  readonly reserves: boolean
  /** @param capacity of the whole group */
  start(snapshot: GroupSnapshot, capacity: ResourceSlots): Queue
}

export interface Queue {
  /** Each pending session exactly once. */
  next(): PendingSession | undefined
  /** The one that `next` gave last has been placed. */
  placed(session: PendingSession): void
}
