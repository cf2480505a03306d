import { type SessionId } from '#manager/contract'
import { createPaced } from '../../api/paced.ts'
import { createSyncPlan, type HeldSessions, type ListName, type ListPage } from './sync-plan.ts'

/** Milliseconds in which the hints of one change are gathered. */
const GATHER_MS = 60
/** Least distance in milliseconds between the starts of rounds under load. */
const BUSY_MS = 1_000
const MOST_IN_FLIGHT = 6

export interface SessionSyncDeps {
  readonly held: HeldSessions
  /** Largest number of ids in one request. */
  readonly batchSize: number
  /**
   * Fetches the pages of a list and adds their sessions to the page.
   * @param page is called with every page as it arrives
   */
  readonly fetchList: (list: ListName, page: (page: ListPage) => void, signal: AbortSignal) => Promise<void>
  /** Fetches these sessions, adds those that exist to the page and removes the others. */
  readonly fetchIds: (ids: readonly SessionId[], signal: AbortSignal) => Promise<void>
  readonly onListFailed: (list: ListName, error: unknown) => void
  /** Called when all requests of a round have been answered. */
  readonly onRound: () => void
}

/** Keeps the sessions on the page equal to those on the server, in rounds that are paced under load. */
export interface SessionSync {
  hint(id: SessionId, version: number): void
  /** Hints were lost: fetches these lists again. */
  resync(lists: readonly ListName[]): void
  /** Fetches the list at once, because a person waits. Resolves after the round that fetches it, whether it succeeded or not. */
  load(list: ListName): Promise<void>
  /** Drops pending fetches and aborts requests in flight. */
  clear(): void
}

export function createSessionSync(deps: SessionSyncDeps): SessionSync {
  const { held, batchSize, fetchList, fetchIds, onListFailed, onRound } = deps
  const plan = createSyncPlan(held)
  let waiters: (() => void)[] = []
  let generation = new AbortController()
  /** Aborts the requests by id in flight: a resync makes them superfluous. */
  let byId = new AbortController()

  async function fetchOneList(list: ListName, signal: AbortSignal): Promise<boolean> {
    const reading = plan.reading(list)
    try {
      await fetchList(list, page => reading.brought(page), signal)
      if (!signal.aborted) reading.finish()
      return true
    } catch (error) {
      if (signal.aborted) return true
      plan.resync(list)
      onListFailed(list, error)
      return false
    }
  }

  async function fetchWanted(signal: AbortSignal): Promise<boolean> {
    const ids = plan.takeIds()
    const batches = Array.from({ length: Math.ceil(ids.length / batchSize) }, (_, index) =>
      ids.slice(index * batchSize, (index + 1) * batchSize),
    )
    byId = new AbortController()
    const either = AbortSignal.any([signal, byId.signal])
    let succeeded = true
    const putBack = (batch: readonly SessionId[]) => {
      if (!signal.aborted) plan.putBack(batch)
    }
    const worker = async () => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        try {
          if (either.aborted) putBack(batch)
          else await fetchIds(batch, either)
        } catch {
          putBack(batch)
          if (!either.aborted) succeeded = false
        }
      }
    }
    await Promise.all(Array.from({ length: MOST_IN_FLIGHT }, worker))
    return succeeded
  }

  async function round(): Promise<boolean> {
    const { signal } = generation
    const waiting = waiters
    waiters = []
    const lists = await Promise.all(plan.takeLists().map(list => fetchOneList(list, signal)))
    const ids = signal.aborted ? true : await fetchWanted(signal)
    if (!signal.aborted) onRound()
    for (const done of waiting) done()
    return ids && lists.every(Boolean)
  }

  const rounds = createPaced({ run: round, gatherMs: GATHER_MS, busyMs: BUSY_MS })

  return {
    hint(id, version) {
      plan.hint(id, version)
      rounds.ask()
    },
    resync(lists) {
      if (lists.length === 0) return
      for (const list of lists) plan.resync(list)
      byId.abort()
      rounds.ask()
    },
    load(list) {
      plan.resync(list)
      rounds.ask({ promptly: true })
      return new Promise(resolve => waiters.push(resolve))
    },
    clear() {
      generation.abort()
      generation = new AbortController()
      rounds.cancel()
      plan.clear()
      for (const done of waiters) done()
      waiters = []
    },
  }
}
