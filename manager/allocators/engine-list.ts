import { because, type ManagerId, type Reason, reasonOf } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Store } from '../store/open-store.ts'
import { listEngineUsers } from '../store/sessions/allocations.ts'
import { type Allocation, type Allocator } from './allocator.ts'
import { prefixOf } from './names.ts'

/** The allocations of this Berth, as the engine lists them. */
export interface EngineList {
  /** @returns undefined if the engine does not answer @throws only once the signal is aborted */
  read(): Promise<readonly Allocation[] | undefined>
  /** Reason of sessions while the engine does not answer. */
  awayReason(): Reason
}

export interface EngineListDeps {
  readonly store: Store
  readonly managerId: ManagerId
  readonly allocator: Allocator
  readonly signal: AbortSignal
  readonly log: Log
}

export function createEngineList({ store, managerId, allocator, signal, log }: EngineListDeps): EngineList {
  /** Time of the first look without an answer. */
  let awaySince: Date | undefined

  return {
    async read() {
      const users = await listEngineUsers(store.db)
      try {
        if (!(await allocator.ping())) throw new Error('the controller of Slurm does not answer')
        const allocations = await allocator.list(prefixOf(managerId), users)
        if (awaySince) log.info({ since: awaySince }, 'Slurm answers again')
        awaySince = undefined
        return allocations
      } catch (error) {
        if (signal.aborted) throw error
        if (!awaySince) log.warn({ err: error }, 'Slurm does not answer; nothing changes until it does')
        awaySince ??= new Date(store.now())
        return undefined
      }
    },
    awayReason() {
      const since = awaySince ?? new Date(store.now())
      return reasonOf('allocator_away', because('slurm_away', { time: since.toISOString() }))
    },
  }
}
