import { computed } from 'vue'
import { useRoute, type LocationQuery, type LocationQueryRaw } from 'vue-router'
import { type ListSort, parseSort, textOf, writeSort } from '../../ui/list-sort.ts'
import { useQueryView } from '../../ui/useQueryView.ts'

/** State of a list, as stored in its address. */
export interface ListState {
  readonly search: string
  readonly sort: ListSort
  /** Values of the active filters. */
  readonly filters: Readonly<Record<string, string>>
}

export interface ListView {
  readonly state: ListState
  search: string
  sort: ListSort
  filterBy(key: string, value: string): void
  /** Removes search and filters. */
  clear(): void
}

export function readListState(query: LocationQuery, initial: string, filters: readonly string[]): ListState {
  const set = filters.map(key => [key, textOf(query[key])] as const).filter(([, value]) => value !== '')
  return {
    search: textOf(query['q']),
    sort: parseSort(textOf(query['sort']) || initial),
    filters: Object.fromEntries(set),
  }
}

export function writeListState({ search, sort, filters }: ListState, initial: string): LocationQueryRaw {
  const order = writeSort(sort)
  return {
    ...(search === '' ? {} : { q: search }),
    ...(order === initial ? {} : { sort: order }),
    ...filters,
  }
}

/**
 * The search, order and filters of a list of administration, in sync with the query of its address.
 * @param initial the order without a `sort` in the address, such as `-created`
 */
export function useListView(initial: string, filters: readonly string[] = []): ListView {
  const route = useRoute()
  const { view, set } = useQueryView<ListState>({
    route: String(route.name),
    keys: ['q', 'sort', ...filters],
    read: query => readListState(query, initial, filters),
    write: state => writeListState(state, initial),
  })
  const state = computed(() => view.value)
  return {
    get state() {
      return state.value
    },
    get search() {
      return state.value.search
    },
    set search(search) {
      set({ search }, 'replace')
    },
    get sort() {
      return state.value.sort
    },
    set sort(sort) {
      set({ sort }, 'replace')
    },
    clear: () => set({ search: '', filters: {} }, 'replace'),
    filterBy(key, value) {
      const { [key]: _, ...others } = state.value.filters
      set({ filters: value === '' ? others : { ...others, [key]: value } }, 'replace')
    },
  }
}
