import { type Because } from '#manager/contract'

/** A fault with which no session can start on this host, or its absence. */
export interface HostFault {
  /** In words for admins; null while the host is well. */
  readonly problem: Because | null
  /** The error of a start, in words for owners where this fault is its cause. */
  told?(error: unknown): unknown
  /** Looks whether the fault is there, or still there. */
  check?(): Promise<void>
}

/** All such faults of this host as one: the first that is there is reported, and a failed start is looked at for each in turn. */
export function createHostFaults(faults: readonly HostFault[]): Required<HostFault> & {
  told(error: unknown): Promise<unknown>
} {
  return {
    get problem() {
      return faults.find(({ problem }) => problem !== null)?.problem ?? null
    },
    async told(error) {
      let said = error
      for (const fault of faults) if (fault.told) said = await fault.told(said)
      return said
    },
    async check() {
      await Promise.all(faults.map(async fault => fault.check?.()))
    },
  }
}
