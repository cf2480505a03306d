import { type KernelLabel, type KernelState } from '#agent/contract'

/** The agent's record of a kernel, derived from the container's signed label, which is the truth. */
export interface KernelRecord {
  readonly label: KernelLabel
  readonly state: KernelState
  readonly containerId: string | null
  readonly address: string | null
  readonly pid: number
  /** Cores to which the kernel is pinned; empty = any. */
  readonly cpus: readonly number[]
  /** Directories of this host with the volumes that its image declares outside of the home. */
  readonly volumes?: readonly string[]
  /** `uid:gid`; empty until the container exists. */
  readonly user: string
}
