import { type ColumnType } from 'kysely'
import { type Default, type Json, type MaybeJson, type Time } from './columns.ts'
import { type AgentId, type Engine, type ResourceGroupOptions, type SessionId } from '#manager/contract'

/** The only interruption in progress in a resource group. The sessions to stop have `interrupt_at`. */
export interface InterruptionsTable {
  resource_group: string
  /** The session for which others are interrupted. */
  session_id: SessionId
  agent_id: AgentId
  at: Time
}

export interface ResourceGroupsTable {
  name: string
  description: Default<string>
  engine: Default<Engine>
  sequencer: Default<'fifo' | 'lifo' | 'drf'>
  selector: Default<'concentrated' | 'dispersed' | 'round-robin'>
  options: ColumnType<ResourceGroupOptions, string | undefined, string>
  active: Default<boolean>
  /** Text for users while the group is not active. */
  notice: Default<string>
  created_at: Time
  version: Default<number>
}

export interface HeldDevice {
  readonly uuid: string
  readonly slot: 'cuda.device' | 'cuda.shares'
  readonly amount: number
}

/** The capacity of one agent in a reservation on several. */
export interface HeldPart {
  readonly agentId: AgentId
  readonly kernels: number
  readonly devices: readonly HeldDevice[]
}

/** Capacity that becomes free on the agent is reserved for this session. At most one reservation per resource group. */
export interface ReservationsTable {
  resource_group: string
  session_id: SessionId
  /** The agent; of several, the first one. */
  agent_id: AgentId
  /** Devices of all agents. */
  devices: Json<readonly HeldDevice[]>
  /** Null if all kernels are to be on one agent. */
  parts: MaybeJson<readonly HeldPart[]>
  created_at: Time
}

/** The allocation that a session of a resource group with an outside engine waits for or holds. */
export interface AllocationsTable {
  session_id: SessionId
  /** Number of the request; a new one follows a lost allocation or a failed start. */
  run: number
  /** Name of the request at the engine. */
  name: string
  /** The engine's user whose job it is; null: the user who runs the manager. */
  engine_user: string | null
  asked_at: Time
  /** Set when the session was placed on the granted resources. */
  granted: MaybeJson<GrantIdentity>
}

/** Users of engines as whom allocations were ever requested. Rows are only added: a request may be granted long after it was given up. */
export interface EngineUsersTable {
  name: string
}

/** Identifies a grant of the engine: it may use an `id` again. Times are seconds since the epoch. */
export interface GrantIdentity {
  readonly id: string
  readonly submittedAt: number | null
  readonly startedAt: number | null
  readonly restarts: number
}
