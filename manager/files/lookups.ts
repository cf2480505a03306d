import {
  type FileEntry,
  type FileListQuery,
  type FilePage,
  type FileSearchQuery,
  type FilesFound,
  type FolderId,
} from '#manager/contract'
import { followingLinks } from '../storage/real-path.ts'
import { type Caller } from '../users/authorize.ts'
import { entryAt, withTargets } from './link-targets.ts'
import { createPages } from './listing.ts'
import { type FolderOpener, type FolderRights } from './open-folder.ts'
import { parentOf } from './places.ts'
import { limitRequests } from './request-limit.ts'
import { searchNames } from './search.ts'

/** Lists and searches files. Disposing closes the directories that are kept open for further pages. */
export interface Lookups extends AsyncDisposable {
  list(caller: Caller, id: FolderId, query: FileListQuery): Promise<FilePage>
  get(caller: Caller, id: FolderId, path: string): Promise<FileEntry>
  search(caller: Caller, id: FolderId, query: FileSearchQuery, signal: AbortSignal): Promise<FilesFound>
}

/** Largest number of concurrent lists and searches of one person: each may be of a million entries. The command line uses five. */
const MOST_LOOKUPS = 24

export function createLookups(open: FolderOpener, rights: Pick<FolderRights, 'require'>): Lookups {
  const pages = createPages()
  const enter = limitRequests(MOST_LOOKUPS)

  return {
    async list(caller, id, query) {
      using _place = enter(caller)
      // The page may come from a directory that was opened for the previous page.
      if (query.after !== undefined) await rights.require(caller, id, 'ro')
      const owner = { userId: caller.userId, place: `${id}/${query.path}` }
      const page = await pages.list(owner, query, async () => {
        await using stack = new AsyncDisposableStack()
        const folder = stack.use(await open(caller, id, 'ro'))
        const directory = stack.use(await followingLinks(folder.top, query.path, path => folder.top.walk(path)))
        const kept = stack.move()
        return { directory, [Symbol.asyncDispose]: () => kept.disposeAsync() }
      })
      if (page.items.every(({ kind }) => kind !== 'link')) return page
      await using folder = await open(caller, id, 'ro')
      return { ...page, items: await withTargets(folder.top, query.path, page.items) }
    },

    async get(caller, id, path) {
      await using folder = await open(caller, id, 'ro')
      const entry = await followingLinks(folder.top, path, at => entryAt(folder.top, at), 'keep')
      const [found = entry] = await withTargets(folder.top, parentOf(path), [entry])
      return found
    },

    async search(caller, id, query, signal) {
      using _place = enter(caller)
      await using folder = await open(caller, id, 'ro')
      const found = await searchNames(folder.top, query, signal)
      // Check again, because the search may have taken ten seconds.
      await rights.require(caller, id, 'ro')
      return found
    },

    [Symbol.asyncDispose]: () => pages[Symbol.asyncDispose](),
  }
}
