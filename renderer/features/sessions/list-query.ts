import { type LocationQuery, type LocationQueryRaw } from 'vue-router'
import { FINISHED_STATUSES, LIVE_STATUSES, SESSION_TAG, type SessionStatus } from '#manager/contract'
import { readSort, textOf, writeSort } from '../../ui/list-sort.ts'
import { NEWEST_FIRST, type Sort, type SortKey } from './session-filter.ts'
import { type ListName } from '../../data/sessions/sync-plan.ts'

/** Tabs of the sessions page: two lists, and a part of each. `live` has all live sessions, `waiting` only the waiting ones. */
export const LIST_TABS = ['live', 'waiting', 'finished', 'failed'] as const
export type ListTab = (typeof LIST_TABS)[number]
/** The list that a tab shows, or of which it shows a part. */
export const listOf = (tab: ListTab): Exclude<ListName, 'failed'> =>
  tab === 'live' || tab === 'waiting' ? 'live' : 'finished'

/** The view of the sessions page. It is kept in the URL, so that links, Back and a reload restore it. */
export interface ListView {
  readonly tab: ListTab
  readonly search: string
  readonly statuses: readonly SessionStatus[]
  /** Tag that sessions must have; empty for all. */
  readonly tag: string
  readonly sort: Sort
}

const SORT_KEYS: readonly SortKey[] = ['name', 'status', 'created', 'owner', 'group']
/** Statuses by which a tab can be filtered; none if all of its sessions have the same. */
export function statusesOf(tab: ListTab): readonly SessionStatus[] {
  if (tab === 'live') return LIVE_STATUSES
  return tab === 'finished' ? FINISHED_STATUSES : []
}

/** Reads the view from the URL. Unknown values are dropped: a URL may be old or mistyped. */
export function readListView(query: LocationQuery): ListView {
  const tab = LIST_TABS.find(name => name === query['list']) ?? 'live'
  const named = textOf(query['status']).split(',')
  return {
    tab,
    search: textOf(query['q']),
    statuses: statusesOf(tab).filter(status => named.includes(status)),
    tag: SESSION_TAG.test(textOf(query['tag'])) ? textOf(query['tag']) : '',
    sort: readSort(textOf(query['sort']), SORT_KEYS) ?? NEWEST_FIRST,
  }
}

/** Writes the view as a URL query. Default values are left out. */
export function writeListView({ tab, search, statuses, tag, sort }: ListView): LocationQueryRaw {
  const isPlain = sort.key === NEWEST_FIRST.key && sort.descending === NEWEST_FIRST.descending
  return {
    ...(tab === 'live' ? {} : { list: tab }),
    ...(search.trim() === '' ? {} : { q: search }),
    ...(statuses.length === 0 ? {} : { status: statuses.join(',') }),
    ...(tag === '' ? {} : { tag }),
    ...(isPlain ? {} : { sort: writeSort(sort) }),
  }
}
