import { type SessionId } from '#manager/contract'
import { createPaced } from '../../api/paced.ts'
import { createSyncPlan, type HeldSessions, type ListName, type ListPage } from './sync-plan.ts'

/** Milliseconds in which the hints of one change are gathered. */
const GATHER_MS = 60
/** Minimum time in milliseconds between the starts of rounds under load. */
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
  readonly fetchList: (list: ListName, page: (page: ListPage) => void) => Promise<void>
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
}

export function createSessionSync(deps: SessionSyncDeps): SessionSync {
  const { held, batchSize, fetchList, fetchIds, onListFailed, onRound } = deps
  const plan = createSyncPlan(held)
  let waiters: (() => void)[] = []
  /** Aborts the requests by id in flight: a resync makes them superfluous. */
  let byId = new AbortController()

  async function fetchOneList(list: ListName): Promise<boolean> {
    const reading = plan.reading(list)
    try {
      await fetchList(list, page => reading.brought(page))
      reading.finish()
      return true
    } catch (error) {
      plan.resync(list)
      onListFailed(list, error)
      return false
    }
  }

  async function fetchWanted(): Promise<boolean> {
    const ids = plan.takeIds()
    const batches = Array.from({ length: Math.ceil(ids.length / batchSize) }, (_, index) =>
      ids.slice(index * batchSize, (index + 1) * batchSize),
    )
    byId = new AbortController()
    const { signal } = byId
    let succeeded = true
    const worker = async () => {
      for (let batch = batches.shift(); batch; batch = batches.shift()) {
        try {
          if (signal.aborted) plan.putBack(batch)
          else await fetchIds(batch, signal)
        } catch {
          plan.putBack(batch)
          if (!signal.aborted) succeeded = false
        }
      }
    }
    await Promise.all(Array.from({ length: MOST_IN_FLIGHT }, worker))
    return succeeded
  }

  async function round(): Promise<boolean> {
    const waiting = waiters
    waiters = []
    const lists = await Promise.all(plan.takeLists().map(fetchOneList))
    const ids = await fetchWanted()
    onRound()
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
  }
}
