import { computed, onScopeDispose, shallowRef, watch } from 'vue'
import { type EventHint } from '#manager/contract'
import { useFetched } from '../../data/fetched.ts'
import { writeSort } from '../../ui/list-sort.ts'
import { allPages } from './all-pages.ts'
import { type ListColumn, searchRows, sortRows } from './list-column.ts'
import { type ListState, type ListView } from './list-view.ts'

/** The rows of a list of administration, and the state that a page shows while there are none. */
export interface AdminList<T> {
  /** Null until the first answer. */
  readonly rows: readonly T[] | null
  /** Number of all matching rows, including those not loaded; null if unknown. */
  readonly total: number | null
  /** Whether a search or a filter hides rows. */
  readonly narrowed: boolean
  /** Number of rows that the list hides by default, without a chosen filter; 0 if unknown. */
  readonly hidden: number
  readonly error: unknown
  readonly load: () => Promise<void>
  /** Call when the end of the loaded rows is near. */
  more(): void
  /** All matching rows, page by page, for an export; pages are not kept. */
  pages(): AsyncIterable<readonly T[]>
}

type Topic = EventHint['topic']
const isNarrowed = ({ search, filters }: ListState) => search !== '' || Object.keys(filters).length > 0

/** A list that the server sends whole: searched and sorted here. */
export function useWholeList<T>(options: {
  readonly view: ListView
  readonly columns: () => readonly ListColumn<T>[]
  readonly fetch: (signal: AbortSignal) => Promise<readonly T[]>
  readonly keeps?: (row: T, filters: ListState['filters']) => boolean
  readonly topics?: readonly Topic[]
}): AdminList<T> {
  const { view, columns, fetch, keeps, topics = [] } = options
  const { value: all, error, again } = useFetched({ fetch: (_, signal) => fetch(signal), topics })
  const rows = computed(() => {
    if (!all.value) return null
    const { search, sort, filters } = view.state
    const kept = keeps ? all.value.filter(row => keeps(row, filters)) : all.value
    return sortRows(searchRows(kept, columns(), search), columns(), sort)
  })
  return {
    get rows() {
      return rows.value
    },
    get total() {
      return rows.value?.length ?? null
    },
    get narrowed() {
      return isNarrowed(view.state)
    },
    get hidden() {
      return isNarrowed(view.state) ? 0 : (all.value?.length ?? 0) - (rows.value?.length ?? 0)
    },
    get error() {
      return error.value
    },
    load: again,
    more: () => undefined,
    async *pages() {
      yield await Promise.resolve(rows.value ?? [])
    },
  }
}

/** Query for a page of a list. */
export interface PageQuery extends ListState {
  readonly limit: number
  readonly cursor: string | undefined
  /** Order in the server's form: `email`, or `-email` for descending. */
  readonly order: string
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
  readonly total?: number
}

interface ShownPage<T> {
  /** Search and order of the rows: the next page is requested with the same. */
  readonly state: ListState
  readonly items: readonly T[]
  readonly nextCursor: string | null
  readonly total: number | null
}

const PAGE = 100
const EXPORT_PAGE = 500
const TYPING_MS = 250

/** A list that the server searches, sorts and sends page by page. */
export function usePagedList<T>(options: {
  readonly view: ListView
  readonly fetch: (query: PageQuery, signal: AbortSignal) => Promise<ListPage<T>>
  readonly topics?: readonly Topic[]
}): AdminList<T> {
  const { view, fetch, topics = [] } = options
  const ask = (state: ListState, limit: number, cursor: string | undefined, signal: AbortSignal) =>
    fetch({ ...state, order: writeSort(state.sort), limit, cursor }, signal)
  const left = new AbortController()
  onScopeDispose(() => left.abort())
  const {
    value: shown,
    error,
    loading,
    again,
    put,
  } = useFetched<ShownPage<T>, ListState>({
    key: () => view.state,
    /** Fetches the first page, with as many rows as are shown, so that the page does not jump. */
    async fetch(state, signal) {
      const limit = Math.min(EXPORT_PAGE, Math.max(PAGE, shown.value?.items.length ?? 0))
      const first = await ask(state, limit, undefined, signal)
      return { ...first, state, total: first.total ?? (first.nextCursor === null ? first.items.length : null) }
    },
    topics,
    keeps: true,
    restMs: (next, before) => (before && next.search !== before.search ? TYPING_MS : 0),
    atOnce: false,
  })
  // Only now, because the number of rows is part of the request.
  void again()
  const appendError = shallowRef<unknown>(null)
  watch(shown, () => (appendError.value = null))
  let appending = false
  async function append(): Promise<void> {
    const before = shown.value
    if (appending || loading.value || !before || before.nextCursor === null) return
    const isOvertaken = () => shown.value !== before || loading.value
    appending = true
    try {
      const next = await ask(before.state, PAGE, before.nextCursor, left.signal)
      // The list was replaced meanwhile, so these rows do not belong to it.
      if (isOvertaken()) return
      put({ ...before, items: [...before.items, ...next.items], nextCursor: next.nextCursor })
    } catch (cause) {
      if (!isOvertaken()) appendError.value = cause
    } finally {
      appending = false
    }
  }

  return {
    get rows() {
      return shown.value?.items ?? null
    },
    get total() {
      return shown.value?.total ?? null
    },
    get narrowed() {
      return isNarrowed(view.state)
    },
    hidden: 0,
    get error() {
      return error.value ?? appendError.value
    },
    load: again,
    more: () => void append(),
    pages() {
      // The file is completed even if the page is left.
      const { signal } = new AbortController()
      return allPages(cursor => ask(view.state, EXPORT_PAGE, cursor, signal))
    },
  }
}
