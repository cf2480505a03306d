import { type SlurmJob } from '#manager/contract'
import { type GrantIdentity } from '../store/tables/scheduling.ts'

/** Resources to allocate on each of some nodes, under a name that Berth chooses and never uses again. */
export interface AllocationRequest {
  /** `[a-z0-9-]` only. */
  readonly name: string
  /** Number of different nodes, each with the amounts that follow. */
  readonly nodes: number
  readonly cpus: number
  readonly memBytes: number
  readonly gpus: number
  /** The engine's word for the model; left out = GPUs of any. */
  readonly gpuType?: string | undefined
  /** The only node that will do; left out = any node. */
  readonly node?: string | undefined
  /** Nodes that will not do. */
  readonly exclude?: readonly string[]
  /** The engine's user whose allocation it is; null: the user of this process. */
  readonly user: string | null
  readonly settings: SlurmJob
}

/** Why an allocation has ended, as far as sessions tell it apart. */
export type AllocationEnd =
  | 'cancelled'
  | 'timeout'
  | 'preempted'
  /** The allocation waits again: its resources are gone as at any other end. */
  | 'requeued'
  | 'node_failed'
  | 'out_of_memory'
  | 'failed'
  | 'completed'

interface Listed {
  readonly name: string
  /** The engine's user whose allocation it is; null: the user of this process. */
  readonly user: string | null
  readonly identity: GrantIdentity
}

/** Indexes count the GPUs of the node, in the order in which the engine numbers them. */
export interface GrantedNode {
  readonly name: string
  readonly gpus: readonly number[]
}

/** A node, allocated or not. */
export interface EngineNode {
  readonly name: string
  /** The engine's word for the model of each GPU, in the order of their indexes; empty where it has none. */
  readonly gpuTypes: readonly string[]
}

/** An allocation as the engine lists it. */
export type Allocation =
  | (Listed & {
      readonly state: 'waiting'
      /** The engine's word for why it waits. */
      readonly reason: string
      readonly expectedAt: Date | null
    })
  | (Listed & {
      readonly state: 'granted'
      readonly nodes: readonly GrantedNode[]
      /** The engine will take the allocation away: its session has to stop now. */
      readonly isPreempted: boolean
      readonly endsAt: Date | null
    })
  | (Listed & { readonly state: 'ended'; readonly end: AllocationEnd })
  /** Neither waiting nor granted, and not over: it is left alone. */
  | (Listed & { readonly state: 'changing' })

/** An allocation that the engine had once. */
export interface PastAllocation {
  readonly name: string
  readonly user: string | null
  /** Null: it is not known what was granted under the name. */
  readonly identity: GrantIdentity | null
}

/**
 * An engine that allocates resources for sessions. Everything else about sessions is Berth's. Calls have a time limit.
 *
 * An error of `list` or `release` means that the state is unknown; it never means that there is no allocation.
 */
export interface Allocator {
  /** Whether the engine answers now. Answers fast, and never throws. */
  ping(): Promise<boolean>
  /**
   * Requests an allocation and returns at once. The request outlives this process: it is found in `list` by its name.
   *
   * @param onRefused called with the engine's own words if the request ends without an allocation; never called if this process ends first
   */
  allocate(request: AllocationRequest, onRefused: (words: string) => void): void
  /**
   * All allocations of the user of this process, and of these users, whose names begin with the prefix.
   *
   * @throws if the answer is not complete
   */
  list(prefix: string, users: ReadonlySet<string>): Promise<readonly Allocation[]>
  /** All nodes. @throws if the answer is not complete */
  nodes(): Promise<readonly EngineNode[]>
  /**
   * How an allocation ended that is not listed any more, from the engine's history; undefined: the engine keeps none, does not answer, or
   * does not know. Never throws.
   */
  endOf(allocation: PastAllocation): Promise<AllocationEnd | undefined>
  /** Ends an allocation, whatever its state. Only `list` shows whether it has ended. */
  release(id: string, user: string | null): Promise<void>
}
