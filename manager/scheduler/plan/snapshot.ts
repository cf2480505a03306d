import { type AgentId, type Reason, type ResourceSlots, type SessionId } from '#manager/contract'

/** The two ways in which a physical GPU is given out. */
export type DeviceSlot = 'cuda.device' | 'cuda.shares'

/** A device as planning sees it. Amounts in base units of `slot`: a whole device is 1, a shared one is 100 shares. */
export interface DeviceSnapshot {
  readonly uuid: string
  readonly slot: DeviceSlot
  readonly total: number
  readonly occupied: number
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
  /** Its control connection is up, its state was reconciled, and its engine answers. */
  readonly connected: boolean
}

export interface PendingSession {
  readonly id: SessionId
  readonly ownerId: string
  /** Milliseconds since the epoch, the database's clock. */
  readonly enqueuedAt: number
  readonly requested: ResourceSlots
  readonly imageDigest: string | null
  readonly image: string
  /** Agents on which earlier attempts failed: avoided while another agent could take the session. */
  readonly failedAgents: readonly AgentId[]
}

/** One resource group at one moment. */
export interface GroupSnapshot {
  readonly agents: readonly AgentSnapshot[]
  readonly pending: readonly PendingSession[]
}

export interface DeviceAllocation {
  readonly uuid: string
  readonly slot: DeviceSlot
  readonly amount: number
}

export interface Placement {
  readonly sessionId: SessionId
  readonly agentId: AgentId
  readonly requested: ResourceSlots
  readonly devices: readonly DeviceAllocation[]
}

export interface Plan {
  readonly placements: readonly Placement[]
  /** Why each session that stays pending does so. */
  readonly reasons: ReadonlyMap<SessionId, Reason>
  /** The sessions that stay pending, next first. */
  readonly queue: readonly SessionId[]
}

/** Puts pending sessions into the order in which they are tried. Must be total: equal input gives equal output. */
export type Sequencer = (pending: readonly PendingSession[]) => readonly PendingSession[]
