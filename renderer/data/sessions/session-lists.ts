import { ref } from 'vue'
import { type ApiClient, type Session } from '#manager/contract'
import { type ListName, type ListPage } from './sync-plan.ts'

export interface ListState {
  readonly status: 'idle' | 'loading' | 'ready' | 'failed'
  readonly error: unknown
  /** Number of sessions on the server; some of them may not be loaded yet. Null until it is known. */
  readonly total: number | null
  /** False while the server has older sessions that are not loaded; `more` fetches them. */
  readonly complete: boolean
}

const PAGE = 500
/** Live sessions are all fetched, up to this number; finished ones page by page as the user scrolls to them. */
const MAX_LIVE = 20_000
const IDLE: ListState = { status: 'idle', error: null, total: null, complete: true }
const NAMES: readonly ListName[] = ['live', 'finished', 'failed']
const ALL_IDLE: Readonly<Record<ListName, ListState>> = { live: IDLE, finished: IDLE, failed: IDLE }

/**
 * How much of each list of the server is loaded, and the requests that load it.
 *
 * @param take adds sessions of a page to those that are held @param showNow shows them before the next frame
 */
export function createSessionLists({
  api,
  take,
  showNow,
}: {
  readonly api: Pick<ApiClient, 'listSessions'>
  readonly take: (sessions: readonly Session[]) => void
  readonly showNow: () => void
}) {
  const lists = ref<Record<ListName, ListState>>(ALL_IDLE)
  /** Cursor of the next older page, and the number of loaded pages. */
  const ends: Record<ListName, { cursor: string | null; pages: number }> = {
    live: { cursor: null, pages: 0 },
    finished: { cursor: null, pages: 0 },
    failed: { cursor: null, pages: 0 },
  }
  const fetchingMore = new Set<ListName>()
  /** True if sessions have moved to the other list, or disappeared, since the totals were fetched. */
  let moved = false

  const setList = (name: ListName, change: Partial<ListState>) => {
    lists.value = { ...lists.value, [name]: { ...lists.value[name], ...change } }
  }

  /** Asks for the number of sessions of a list, which need not be loaded. @throws as the route */
  async function count(name: ListName): Promise<void> {
    const { total } = await api.listSessions({ query: { status: name, limit: 1 } })
    setList(name, { total })
  }

  /** Asks for the totals of partly loaded lists, which only the server knows. */
  async function refreshTotals(): Promise<void> {
    if (!moved) return
    moved = false
    const isWhole = ({ status, complete }: ListState) => status === 'ready' && complete
    const partial = NAMES.filter(name => lists.value[name].total !== null && !isWhole(lists.value[name]))
    await Promise.all(partial.map(count)).catch(() => {
      // Keep the old totals; the next round asks again.
      moved = true
    })
  }

  /** Fetches the pages of a list from its newest on: all live sessions, and as many pages of ended ones as are loaded. */
  async function fetchList(name: ListName, told: (page: ListPage) => void): Promise<void> {
    const pages = name === 'live' ? MAX_LIVE / PAGE : Math.max(1, ends[name].pages)
    let cursor: string | null = null
    for (let page = 1; page <= pages; page++) {
      const fetched: ListPage = await fetchPage(name, cursor, page)
      told(fetched)
      cursor = fetched.nextCursor
      if (cursor === null) return
    }
  }

  async function fetchPage(name: ListName, cursor: string | null, pages: number): Promise<ListPage> {
    const query = { status: name, limit: PAGE, ...(cursor === null ? {} : { cursor }) }
    const page = await api.listSessions({ query })
    take(page.items)
    ends[name] = { cursor: page.nextCursor, pages }
    const isFirst = lists.value[name].status !== 'ready'
    setList(name, { status: 'ready', error: null, total: page.total, complete: page.nextCursor === null })
    if (isFirst) showNow()
    return page
  }

  /** Fetches the next older page, if there is one; simultaneous calls make one request. */
  async function more(name: ListName): Promise<void> {
    const { cursor, pages } = ends[name]
    if (cursor === null || fetchingMore.has(name)) return
    fetchingMore.add(name)
    try {
      await fetchPage(name, cursor, pages + 1)
      showNow()
    } catch {
      // Loaded rows stay; scrolling or the button asks again.
    } finally {
      fetchingMore.delete(name)
    }
  }

  return {
    lists,
    setList,
    count,
    more,
    fetchList,
    refreshTotals,
    /** Records that a session has moved to the other list, or is gone. */
    noteMoved: () => (moved = true),
    /** Lists that somebody has requested. */
    begun: () => NAMES.filter(name => lists.value[name].status !== 'idle'),
  }
}
