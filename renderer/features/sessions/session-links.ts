import { inject, provide, type ComputedRef, type InjectionKey } from 'vue'
import { stringifyQuery, type LocationQueryRaw } from 'vue-router'
import { type SessionId } from '#manager/contract'

/** What the list shows stays in the address of a session that is opened from it. */
const LIST_QUERY: InjectionKey<ComputedRef<LocationQueryRaw>> = Symbol('list query')
export const provideListQuery = (query: ComputedRef<LocationQueryRaw>) => provide(LIST_QUERY, query)

/** Addresses as plain text: a list that scrolls makes hundreds of links per second, and RouterLink resolves each one. */
export function useDetailHref(): (id: SessionId, tab?: 'logs') => string {
  const query = inject(LIST_QUERY, undefined)
  return (id, tab) => {
    const text = stringifyQuery({ ...query?.value, ...(tab ? { tab } : {}) })
    return `#/sessions/${id}${text && `?${text}`}`
  }
}
