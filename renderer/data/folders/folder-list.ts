import { type LocationQuery, type LocationQueryRaw } from 'vue-router'
import { type Folder, isAutomount } from '#manager/contract'
import { type ListSort, readSort, textOf, writeSort } from '../../ui/list-sort.ts'
import { t } from '../../words/en/folders.ts'

export const FOLDER_TABS = ['folders', 'automount', 'trash', 'invitations'] as const
export type FolderTab = (typeof FOLDER_TABS)[number]
const SORT_KEYS = ['name', 'owner', 'size', 'storage', 'created', 'trashed'] as const
export type FolderSortKey = (typeof SORT_KEYS)[number]
export type FolderSort = ListSort<FolderSortKey>

/** The view of the page. It is kept in the URL, so that links, Back and a reload restore it. */
export interface FolderView {
  readonly tab: FolderTab
  readonly search: string
  readonly sort: FolderSort
}

/** Default orders: folders by name; in the trash, the latest first. */
const USUAL: Readonly<Record<FolderTab, FolderSort>> = {
  folders: { key: 'name', descending: false },
  automount: { key: 'name', descending: false },
  trash: { key: 'trashed', descending: true },
  invitations: { key: 'name', descending: false },
}

/** Reads the view from the URL. Unknown values are dropped: a URL may be old or mistyped. */
export function readFolderView(query: LocationQuery): FolderView {
  const tab = FOLDER_TABS.find(name => name === query['tab']) ?? 'folders'
  return { tab, search: textOf(query['q']), sort: readSort(textOf(query['sort']), SORT_KEYS) ?? USUAL[tab] }
}

/** Writes the view as a URL query. Default values are left out. */
export function writeFolderView({ tab, search, sort }: FolderView): LocationQueryRaw {
  const { key, descending } = USUAL[tab]
  const isUsual = sort.key === key && sort.descending === descending
  return {
    ...(tab === 'folders' ? {} : { tab }),
    ...(search.trim() === '' ? {} : { q: search }),
    ...(isUsual ? {} : { sort: writeSort(sort) }),
  }
}

/** The owner as shown: the reader, a project or somebody else. */
export function ownerText(folder: Folder, me: Folder['ownerId'] | undefined): string {
  if (folder.group) return t('project', { name: folder.group.name })
  return folder.ownerId === me ? t('you') : (folder.owner?.email ?? '')
}

/** Is the folder mounted in each new session of this person without being chosen? */
export const mountsItself = ({ name, ownerId }: Pick<Folder, 'name' | 'ownerId'>, me: Folder['ownerId'] | undefined) =>
  isAutomount(name) && ownerId === me

/** Purpose of a folder in one word. */
export const modeText = ({ usageMode }: Pick<Folder, 'usageMode'>) =>
  t(({ general: 'shortGeneral', data: 'shortData', model: 'shortModel' } as const)[usageMode])

/** Keeps folders that contain every word in their name, purpose, owner, storage host or id. Case does not matter. */
export function filterFolders(folders: readonly Folder[], text: string, ownerOf: (folder: Folder) => string) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return folders
  return folders.filter(folder => {
    const hay = `${folder.name} ${modeText(folder)} ${ownerOf(folder)} ${folder.storageHost} ${folder.id}`.toLowerCase()
    return words.every(word => hay.includes(word))
  })
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' })

export function sortFolders(
  folders: readonly Folder[],
  { key, descending }: FolderSort,
  ownerOf: (folder: Folder) => string,
): Folder[] {
  const sign = descending ? -1 : 1
  const byName = (a: Folder, b: Folder) => collator.compare(a.name, b.name)
  // Folders whose size is not known yet come before empty ones.
  const sizeOf = ({ usage }: Folder) => usage?.bytes ?? -1
  if (key === 'size') return folders.toSorted((a, b) => sign * (sizeOf(a) - sizeOf(b)) || byName(a, b))
  const TEXT: Readonly<Record<Exclude<FolderSortKey, 'size'>, (folder: Folder) => string>> = {
    name: ({ name }) => name,
    owner: ownerOf,
    storage: ({ storageHost }) => storageHost,
    created: ({ createdAt }) => createdAt,
    trashed: ({ trashedAt }) => trashedAt ?? '',
  }
  const textOfKey = TEXT[key]
  return folders.toSorted((a, b) => sign * collator.compare(textOfKey(a), textOfKey(b)) || byName(a, b))
}
