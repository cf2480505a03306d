import { defined } from '#base/defined'
import { type ApiClient, AppError, because, type FileEntry, type FilePage, type FolderId } from '#manager/contract'

export interface RemoteEntry {
  readonly entry: FileEntry
  /** Parts of its path below the top of the tree. */
  readonly parts: readonly string[]
}

/** File or directory that a link leads to. */
type Target = NonNullable<FileEntry['target']>

export interface RemoteTree {
  readonly api: ApiClient
  readonly folderId: FolderId
  readonly signal: AbortSignal
}

/** A path has 4096 bytes, so no folder has more levels. */
const MOST_LEVELS = 2_048

/** Directories whose first page is asked for before it is needed. */
const AHEAD = 4

function pageOf({ api, folderId, signal }: RemoteTree, path: string, after?: string): Promise<FilePage> {
  const query = { path, limit: '1000', ...defined({ after }) }
  return api.listFiles({ params: { id: folderId }, query, signal })
}

/** Pages of one directory of a folder. @param first its first page, if that was asked for already */
async function* pagesOf(tree: RemoteTree, path: string, first = pageOf(tree, path)): AsyncGenerator<FileEntry[]> {
  for (let page = await first; ; page = await pageOf(tree, path, page.next)) {
    yield page.items
    if (page.next === null) return
  }
}

/** Entries of one directory of a folder, page by page. */
export async function* listRemote(tree: RemoteTree, path: string): AsyncGenerator<FileEntry> {
  for await (const items of pagesOf(tree, path)) yield* items
}

/**
 * Everything below a directory, directories before what is in them. Links are not followed.
 *
 * Threat model: a hostile server may send a tree without an end. Each level costs memory here, also one without a name, which leads to the
 * same directory again.
 *
 * @throws AppError `unavailable` for a tree that no folder has
 */
export async function* walkRemote(
  tree: RemoteTree,
  top: string,
  parts: readonly string[] = [],
  first?: Promise<FilePage>,
): AsyncGenerator<RemoteEntry> {
  const pathOf = (names: readonly string[]) => [top, ...names].filter(part => part !== '').join('/')
  for await (const items of pagesOf(tree, pathOf(parts), first)) {
    const rest = items.filter(({ kind }) => kind === 'directory').values()
    const ahead: Promise<FilePage>[] = []
    const askNext = () => {
      const { done, value } = rest.next()
      if (done) return
      const page = pageOf(tree, pathOf([...parts, value.name]))
      page.catch(() => undefined) // reported when its turn comes
      ahead.push(page)
    }
    for (let n = 0; n < AHEAD; n++) askNext()
    for (const entry of items) {
      const below = [...parts, entry.name]
      if (entry.name === '' || below.length > MOST_LEVELS)
        throw new AppError(
          'unavailable',
          because('not_a_manager_there', { text: 'a directory without a name or an end' }),
        )
      yield { entry, parts: below }
      if (entry.kind !== 'directory') continue
      yield* walkRemote(tree, top, below, ahead.shift())
      askNext()
    }
  }
}

export interface FollowedTree extends RemoteTree {
  /** Called for a link that is left out. @param target the directory that it leads to; undefined if it leads to nothing in the folder */
  readonly onLinkLeftOut: (parts: readonly string[], target: Target | undefined) => void
}

/**
 * Like `walkRemote`, but follows links: a linked file gets the name of its link, and the entries of a linked directory come below the link.
 * As in a ZIP file, a link is left out if its directory, or one inside it, is walked anyway.
 *
 * @param walked real paths of the directories that are walked
 */
export async function* walkFollowing(
  tree: FollowedTree,
  top: string,
  parts: readonly string[] = [],
  walked: string[] = [],
): AsyncGenerator<RemoteEntry> {
  walked.push(top)
  for await (const found of walkRemote(tree, top)) {
    const { entry } = found
    const below = [...parts, ...found.parts]
    const { target, name } = entry
    if (entry.kind !== 'link') yield { entry, parts: below }
    else if (!target || (target.kind === 'directory' && isWalked(walked, target.path)))
      tree.onLinkLeftOut(below, target)
    else {
      yield { entry: { ...target, name }, parts: below }
      if (target.kind === 'directory') yield* walkFollowing(tree, target.path, below, walked)
    }
  }
}

const isWalked = (walked: readonly string[], path: string): boolean =>
  walked.some(one => isIn(one, path) || isIn(path, one))

const isIn = (directory: string, path: string): boolean => directory === '' || `${path}/`.startsWith(`${directory}/`)
