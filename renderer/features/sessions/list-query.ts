import { type LocationQuery, type LocationQueryRaw } from 'vue-router'
import { FINISHED_STATUSES, LIVE_STATUSES, type SessionStatus } from '#manager/contract'
import { NEWEST_FIRST, type Sort, type SortKey } from './session-filter.ts'
import { type ListName } from './sync-plan.ts'

/** The view of the sessions page. It is kept in the URL, so that links, Back and a reload restore it. */
export interface ListView {
  readonly list: ListName
  readonly search: string
  readonly statuses: readonly SessionStatus[]
  readonly sort: Sort
}

const SORT_KEYS: readonly SortKey[] = ['name', 'status', 'created', 'owner']
const textOf = (value: LocationQuery[string] | undefined) => (typeof value === 'string' ? value : '')
export const statusesOf = (list: ListName): readonly SessionStatus[] =>
  list === 'finished' ? FINISHED_STATUSES : LIVE_STATUSES

/** Reads the view from the URL. Unknown values are dropped: a URL may be old or mistyped. */
export function readListView(query: LocationQuery): ListView {
  const list = query['list'] === 'finished' ? 'finished' : 'live'
  const named = textOf(query['status']).split(',')
  const sort = textOf(query['sort'])
  const key = SORT_KEYS.find(candidate => candidate === sort.replace(/^-/, ''))
  return {
    list,
    search: textOf(query['q']),
    statuses: statusesOf(list).filter(status => named.includes(status)),
    sort: key ? { key, descending: sort.startsWith('-') } : NEWEST_FIRST,
  }
}

/** Writes the view as a URL query. Default values are left out. */
export function writeListView({ list, search, statuses, sort }: ListView): LocationQueryRaw {
  const isPlain = sort.key === NEWEST_FIRST.key && sort.descending === NEWEST_FIRST.descending
  return {
    ...(list === 'finished' ? { list } : {}),
    ...(search.trim() === '' ? {} : { q: search }),
    ...(statuses.length === 0 ? {} : { status: statuses.join(',') }),
    ...(isPlain ? {} : { sort: `${sort.descending ? '-' : ''}${sort.key}` }),
  }
}
