import { type KernelLabel, type KernelState } from '#agent/contract'

/** What the agent remembers of a kernel; the container's signed label is the truth it comes from. */
export interface KernelRecord {
  readonly label: KernelLabel
  readonly state: KernelState
  readonly containerId: string | null
  readonly address: string | null
  readonly pid: number
  /** Cores it is pinned to; empty = any. */
  readonly cpus: readonly number[]
  /** `uid:gid`; empty until its container is there. */
  readonly user: string
}
