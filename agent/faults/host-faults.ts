import { type Because } from '#manager/contract'

/** A fault because of which no session can start on this host, or its absence. */
export interface HostFault {
  /** Text for admins; null while there is no fault. */
  readonly problem: Because | null
  /** Rewords the error of a failed start for owners if this fault caused it. */
  told?(error: unknown): unknown
  /** Checks whether the fault exists, or still exists. */
  check?(): Promise<void>
}

/** All such faults of this host as one: it reports the first existing fault, and checks each of them in turn after a failed start. */
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
