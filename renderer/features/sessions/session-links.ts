import { inject, provide, type ComputedRef, type InjectionKey } from 'vue'
import { stringifyQuery, type LocationQueryRaw } from 'vue-router'
import { type SessionId } from '#manager/contract'

/** The query of the list's view, kept in the URL of a session that is opened from the list. */
const LIST_QUERY: InjectionKey<ComputedRef<LocationQueryRaw>> = Symbol('list query')
export const provideListQuery = (query: ComputedRef<LocationQueryRaw>) => provide(LIST_QUERY, query)

/** Builds URLs of sessions as plain text: a scrolling list creates hundreds of links per second, and RouterLink resolves each. */
export function useDetailHref(): (id: SessionId, tab?: 'logs') => string {
  const query = inject(LIST_QUERY, undefined)
  return (id, tab) => {
    const text = stringifyQuery({ ...query?.value, ...(tab ? { tab } : {}) })
    return `#/sessions/${id}${text && `?${text}`}`
  }
}
