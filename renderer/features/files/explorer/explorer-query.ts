import { type LocationQuery, type LocationQueryRaw, type RouteLocationRaw } from 'vue-router'
import { readSort, textOf, writeSort } from '../../../ui/list-sort.ts'
import { type EntrySort, type SortKey } from '../../../data/files/files-client.ts'

/** Part of the explorer's view that is in the URL besides folder and directory. */
export interface ExplorerView {
  readonly sort: EntrySort
  /** Name of the file whose preview is open. */
  readonly open: string | null
  /** Text of the search below the directory; empty: no search. */
  readonly search: string
}

const BY_NAME: EntrySort = { key: 'name', descending: false }
const SORT_KEYS: readonly SortKey[] = ['name', 'size', 'modified']

/** Reads the view from the URL; unknown values are dropped. */
export function readView(query: LocationQuery): ExplorerView {
  return {
    sort: readSort(textOf(query['sort']), SORT_KEYS) ?? BY_NAME,
    open: textOf(query['open']) || null,
    search: textOf(query['q']),
  }
}

/** Writes the view as a query; default values are left out. */
export function writeView({ sort, open, search }: ExplorerView): LocationQueryRaw {
  const isPlain = sort.key === 'name' && !sort.descending
  return {
    ...(isPlain ? {} : { sort: writeSort(sort) }),
    ...(search === '' ? {} : { q: search }),
    ...(open === null ? {} : { open }),
  }
}

/** Location of a directory, in the same order. */
export function placeOf(folderId: string, path: string, view: Partial<ExplorerView> = {}): RouteLocationRaw {
  return {
    name: 'explorer',
    params: { folder: folderId, path: path === '' ? [] : path.split('/') },
    query: writeView({ sort: BY_NAME, open: null, search: '', ...view }),
  }
}
