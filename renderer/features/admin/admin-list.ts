import { computed, onBeforeMount, onBeforeUnmount, ref, shallowRef, watch } from 'vue'
import { type EventHint } from '#manager/contract'
import { useServices } from '../../services.ts'
import { writeSort } from '../../ui/list-sort.ts'
import { allPages } from './all-pages.ts'
import { type ListColumn, searchRows, sortRows } from './list-column.ts'
import { type ListState, type ListView } from './list-view.ts'

/** The rows of a list of administration, with what a page shows while they are not there. */
export interface AdminList<T> {
  /** Null until the first answer. */
  readonly rows: readonly T[] | null
  /** Number of all rows that match, also of those that are not loaded; null if it is not known. */
  readonly total: number | null
  /** Whether a search or a filter leaves rows out. */
  readonly narrowed: boolean
  /** Number of rows that the list leaves out by itself, without a filter that somebody chose; 0 if that is not known. */
  readonly hidden: number
  readonly error: unknown
  readonly load: () => Promise<void>
  /** The end of the loaded rows is near. */
  more(): void
  /** Every row that matches, page by page, for an export: no page is kept. */
  pages(): AsyncIterable<readonly T[]>
}

type Topic = EventHint['topic']
const GATHER_MS = 400

/**
 * Runs `load` at first, after hints of these topics, gathered for a moment, and after the stream of hints was interrupted. The first time
 * is before the page is drawn: its requests are under way meanwhile.
 */
export function useFreshness(topics: readonly Topic[], load: () => Promise<void>): void {
  const { events } = useServices()
  let waiting: ReturnType<typeof setTimeout> | undefined
  const stops = [
    events.onHint(({ topic }) => {
      if (!topics.includes(topic)) return
      waiting ??= setTimeout(() => {
        waiting = undefined
        void load()
      }, GATHER_MS)
    }),
    events.onResync(() => void load()),
  ]
  onBeforeMount(() => void load())
  onBeforeUnmount(() => {
    clearTimeout(waiting)
    stops.forEach(stop => stop())
  })
}

const isNarrowed = ({ search, filters }: ListState) => search !== '' || Object.keys(filters).length > 0

/** A list that the server sends whole: searched and sorted here. */
export function useWholeList<T>(options: {
  readonly view: ListView
  readonly columns: () => readonly ListColumn<T>[]
  readonly fetch: () => Promise<readonly T[]>
  readonly keeps?: (row: T, filters: ListState['filters']) => boolean
  readonly topics?: readonly Topic[]
}): AdminList<T> {
  const { view, columns, fetch, keeps, topics = [] } = options
  const all = shallowRef<readonly T[] | null>(null)
  const error = ref<unknown>(null)
  let round = 0

  async function load(): Promise<void> {
    const mine = ++round
    try {
      const items = await fetch()
      if (mine !== round) return
      all.value = items
      error.value = null
    } catch (cause) {
      if (mine === round) error.value = cause
    }
  }
  useFreshness(topics, load)

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
    load,
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
  /** As the server takes it: `email`, or `-email` for falling. */
  readonly order: string
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
  readonly total?: number
}

const PAGE = 100
const EXPORT_PAGE = 500
const TYPING_MS = 250

/** A list that the server searches, sorts and sends page by page. */
export function usePagedList<T>(options: {
  readonly view: ListView
  readonly fetch: (query: PageQuery) => Promise<ListPage<T>>
  readonly topics?: readonly Topic[]
}): AdminList<T> {
  const { view, fetch, topics = [] } = options
  const rows = shallowRef<readonly T[] | null>(null)
  const total = ref<number | null>(null)
  const error = ref<unknown>(null)
  const cursor = ref<string | null>(null)
  let round = 0
  let fetching = false
  const ask = (limit: number, from: string | undefined) =>
    fetch({ ...view.state, order: writeSort(view.state.sort), limit, cursor: from })

  /** Fetches the first page again; as many rows as are shown, so that the page does not jump. */
  async function load(): Promise<void> {
    const mine = ++round
    fetching = true
    try {
      const page = await ask(Math.min(EXPORT_PAGE, Math.max(PAGE, rows.value?.length ?? 0)), undefined)
      if (mine !== round) return
      rows.value = page.items
      cursor.value = page.nextCursor
      total.value = page.total ?? (page.nextCursor === null ? page.items.length : null)
      error.value = null
    } catch (cause) {
      if (mine === round) error.value = cause
    } finally {
      if (mine === round) fetching = false
    }
  }
  async function append(): Promise<void> {
    if (fetching || cursor.value === null) return
    const mine = round
    fetching = true
    try {
      const page = await ask(PAGE, cursor.value)
      if (mine !== round) return
      rows.value = [...(rows.value ?? []), ...page.items]
      cursor.value = page.nextCursor
    } catch (cause) {
      if (mine === round) error.value = cause
    } finally {
      if (mine === round) fetching = false
    }
  }
  let typing: ReturnType<typeof setTimeout> | undefined
  watch(
    () => view.state,
    (next, before) => {
      clearTimeout(typing)
      typing = setTimeout(() => void load(), next.search === before.search ? 0 : TYPING_MS)
    },
  )
  onBeforeUnmount(() => {
    clearTimeout(typing)
    round += 1
  })
  useFreshness(topics, load)

  return {
    get rows() {
      return rows.value
    },
    get total() {
      return total.value
    },
    get narrowed() {
      return isNarrowed(view.state)
    },
    hidden: 0,
    get error() {
      return error.value
    },
    load,
    more: () => void append(),
    pages: () => allPages(cursor => ask(EXPORT_PAGE, cursor)),
  }
}
