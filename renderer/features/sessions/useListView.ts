import { computed, shallowRef, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { readListView, writeListView, type ListView } from './list-query.ts'

/**
 * The view of the sessions list, in sync with the URL. Switching lists adds a history entry; a search, filter or sort replaces the current
 * entry.
 */
export function useListView() {
  const route = useRoute()
  const router = useRouter()
  const view = shallowRef(readListView(route.query))

  const isSame = (a: ListView, b: ListView) => JSON.stringify(a) === JSON.stringify(b)
  function write(how: 'push' | 'replace'): void {
    const { list: _list, q: _q, status: _status, tag: _tag, sort: _sort, ...others } = route.query
    void router[how]({ query: { ...others, ...writeListView(view.value) } })
  }
  // The list follows navigation by Back, a link or the rail.
  watch(
    () => route.query,
    query => {
      if (!route.matched.some(({ name }) => name === 'sessions')) return
      const next = readListView(query)
      if (!isSame(next, view.value)) view.value = next
    },
  )

  const part = <K extends keyof ListView>(key: K, set: (value: ListView[K]) => void) =>
    computed({ get: () => view.value[key], set })
  return {
    tab: part('tab', tab => {
      if (tab === view.value.tab) return
      view.value = { ...view.value, tab, statuses: [] }
      write('push')
    }),
    search: part('search', search => {
      view.value = { ...view.value, search }
      write('replace')
    }),
    statuses: part('statuses', statuses => {
      view.value = { ...view.value, statuses }
      write('replace')
    }),
    tag: part('tag', tag => {
      view.value = { ...view.value, tag }
      write('replace')
    }),
    sort: part('sort', sort => {
      view.value = { ...view.value, sort }
      write('replace')
    }),
    /** The view's part of the URL's query, for links to sessions within the list. */
    query: computed(() => writeListView(view.value)),
  }
}
