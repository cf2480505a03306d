import { type ApiClient, type FileEntry, type FolderId } from '#manager/contract'

export interface RemoteEntry {
  readonly entry: FileEntry
  /** Parts of its path below the top of the tree. */
  readonly parts: readonly string[]
}

export interface RemoteTree {
  readonly api: ApiClient
  readonly folderId: FolderId
  readonly signal: AbortSignal
}

/** Entries of one directory of a folder, page by page. */
export async function* listRemote({ api, folderId, signal }: RemoteTree, path: string): AsyncGenerator<FileEntry> {
  for (let after: string | null | undefined; after !== null;) {
    const query = { path, limit: '1000', ...(after === undefined ? {} : { after }) }
    const page = await api.listFiles({ params: { id: folderId }, query, signal })
    yield* page.items
    after = page.next
  }
}

/** Everything below a directory, directories before what is in them. Links are not followed. */
export async function* walkRemote(
  tree: RemoteTree,
  top: string,
  parts: readonly string[] = [],
): AsyncGenerator<RemoteEntry> {
  for await (const entry of listRemote(tree, [top, ...parts].filter(part => part !== '').join('/'))) {
    const below = [...parts, entry.name]
    yield { entry, parts: below }
    if (entry.kind === 'directory') yield* walkRemote(tree, top, below)
  }
}
