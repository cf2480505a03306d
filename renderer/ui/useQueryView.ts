import { shallowRef, watch, type ShallowRef } from 'vue'
import { useRoute, useRouter, type LocationQuery, type LocationQueryRaw } from 'vue-router'

export interface QueryView<V> {
  readonly view: Readonly<ShallowRef<V>>
  /** Changes the view and the URL. `push` adds a history entry, so that Back returns; `replace` does not. */
  readonly set: (change: Partial<V>, how: 'push' | 'replace') => void
}

/** Keeps the view of a page in sync with the query of its URL. */
export function useQueryView<V extends object>(options: {
  /** Name of the page's route: queries of other routes are ignored. */
  readonly route: string
  /** All keys of the query that belong to the view. */
  readonly keys: readonly string[]
  read(query: LocationQuery): V
  write(view: V): LocationQueryRaw
}): QueryView<V> {
  const route = useRoute()
  const router = useRouter()
  const view = shallowRef(options.read(route.query)) as ShallowRef<V>

  // The view follows navigation by Back, a link or the rail.
  watch(
    () => route.query,
    query => {
      if (!route.matched.some(({ name }) => name === options.route)) return
      const next = options.read(query)
      if (JSON.stringify(next) !== JSON.stringify(view.value)) view.value = next
    },
  )
  return {
    view,
    set(change, how) {
      view.value = { ...view.value, ...change }
      const others = Object.fromEntries(Object.entries(route.query).filter(([key]) => !options.keys.includes(key)))
      void router[how]({ query: { ...others, ...options.write(view.value) } })
    },
  }
}
