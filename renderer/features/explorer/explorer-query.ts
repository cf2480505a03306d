import { type LocationQuery, type LocationQueryRaw, type RouteLocationRaw } from 'vue-router'
import { type EntrySort, type SortKey } from './files-client.ts'

/** What of the explorer's view is in the URL besides folder and directory. */
export interface ExplorerView {
  readonly sort: EntrySort
  /** Name of the file whose preview is open. */
  readonly open: string | null
  /** Text of the search below the directory; empty: no search. */
  readonly search: string
}

const BY_NAME: EntrySort = { key: 'name', descending: false }
const SORT_KEYS: readonly SortKey[] = ['name', 'size', 'modified']
const textOf = (value: LocationQuery[string] | undefined) => (typeof value === 'string' ? value : '')

/** Reads the view from the URL; unknown values are dropped. */
export function readView(query: LocationQuery): ExplorerView {
  const sort = textOf(query['sort'])
  const key = SORT_KEYS.find(candidate => candidate === sort.replace(/^-/, ''))
  return {
    sort: key ? { key, descending: sort.startsWith('-') } : BY_NAME,
    open: textOf(query['open']) || null,
    search: textOf(query['q']),
  }
}

/** Writes the view as a query; default values are left out. */
export function writeView({ sort, open, search }: ExplorerView): LocationQueryRaw {
  const isPlain = sort.key === 'name' && !sort.descending
  return {
    ...(isPlain ? {} : { sort: `${sort.descending ? '-' : ''}${sort.key}` }),
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
