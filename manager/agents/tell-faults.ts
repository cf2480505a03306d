import { type AgentId, type Because } from '#manager/contract'
import { type Log } from '../log.ts'
import { setFaultTold } from '../store/agents/agents.ts'
import { type Store } from '../store/open-store.ts'
import { type Db } from '../store/schema.ts'
import { type AgentMemory } from './agent-memory.ts'

/** A fault of a host or of one of its GPUs, or its end, about which superadmins are informed. */
export interface HostNews {
  readonly host: string
  /** Why no session can start there; null if sessions can start again. */
  readonly fault: Because | null
  /** True if the fault is that of an update: sessions still start. */
  readonly isUpdate?: boolean
  /** The GPU that has the fault, if it is not the whole host. */
  readonly gpu?: string
  /** As in `News` of the superadmins. */
  readonly isDue?: (trx: Db) => Promise<boolean>
}

export type TellHost = (news: HostNews) => Promise<void>

export interface FaultTimings {
  /** A fault is reported after this time, because an engine may only be restarting. */
  readonly faultMs: number
  /** The end of a fault is reported after this time, so that a disk near its floor causes one message and not hundreds. */
  readonly wellMs: number
}
export const DEFAULT_FAULT_TIMINGS: FaultTimings = { faultMs: 60_000, wellMs: 300_000 }

export interface FaultTellerDeps {
  readonly store: Store
  readonly tell: TellHost
  readonly log: Pick<Log, 'error'>
  readonly timings?: Partial<FaultTimings> | undefined
}

/** Informs superadmins when no session can start on a host, and when sessions can start again. Call the function with every report. */
export function createFaultTeller({ store, tell, log, timings }: FaultTellerDeps) {
  const { faultMs, wellMs } = { ...DEFAULT_FAULT_TIMINGS, ...timings }
  return async function note(
    agentId: AgentId,
    memory: Pick<AgentMemory, 'fault'>,
    fault: Because | null,
  ): Promise<void> {
    const isFault = fault !== null
    const now = performance.now()
    if (memory.fault?.isFault !== isFault) memory.fault = { isFault, since: now, isTold: false }
    const { since, isTold } = memory.fault
    if (isTold || now - since < (isFault ? faultMs : wellMs)) return
    // The stored row decides whether to report: another manager, or this one before a restart, may have done so.
    const host = await setFaultTold(store.db, agentId, isFault)
    memory.fault = { isFault, since, isTold: true }
    if (host === undefined) return
    await tell({ host, fault }).catch((error: unknown) =>
      log.error({ err: error, agentId }, 'superadmins could not be told about a host'),
    )
  }
}
