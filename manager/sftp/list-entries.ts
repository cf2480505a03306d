import { type FolderPermission } from '#manager/contract'
import { statesOf } from '../files/states.ts'
import { type Directory } from '../storage/beneath.ts'
import { type Entry } from '../storage/listing.ts'
import { followingLinks } from '../storage/real-path.ts'
import { bytesOf } from '../storage/file-names.ts'
import { attributesOf, modeOf } from './attributes.ts'
import { type DirectoryHandle, type TopHandle } from './handles.ts'
import { placeOf } from './place.ts'
import { type NamedEntry } from './protocol.ts'
import { type Tree } from './tree.ts'
import { entryLength } from './write-reply.ts'

/** Largest number of entries of one reply. Programs show entries as they arrive, so a reply should not wait for thousands of files. */
const MOST_ENTRIES = 128
const MOST_BYTES = 64 * 1024

/** Opens a directory, or the list of folders, for a client that lists it. @throws AppError */
export async function openList(
  tree: Pick<Tree, 'hold' | 'list' | 'permissionOf'>,
  path: Buffer,
): Promise<DirectoryHandle | TopHandle> {
  const place = placeOf(path)
  if (place.kind === 'top') return { kind: 'top', rest: await listTop(tree) }
  await using stack = new AsyncDisposableStack()
  const held = stack.use(await tree.hold(place.folder, 'ro'))
  const { top } = held.folder
  const directory = stack.use(await followingLinks(top, place.path, real => top.walk(real)))
  const listing = await directory.list()
  stack.move()
  return { kind: 'directory', held, directory, listing, rest: [] }
}

async function listTop(tree: Pick<Tree, 'list' | 'permissionOf'>): Promise<NamedEntry[]> {
  return [...(await tree.list())].map(([name, row]) => {
    const modified = row.created_at.getTime() / 1000
    const mode = modeOf('directory', tree.permissionOf(row) === 'ro' ? 0o555 : 0o755)
    return { name: Buffer.from(name), attributes: { size: 0, mode, times: { accessed: modified, modified } } }
  })
}

/** The next entries of a listing; empty at its end. */
export async function nextEntries(handle: DirectoryHandle | TopHandle): Promise<NamedEntry[]> {
  while (handle.kind === 'directory' && handle.rest.length === 0) {
    const batch = await handle.listing.next()
    if (batch.length === 0) break
    handle.rest = await describe(handle.directory, batch, handle.held.permission)
  }
  const count = fitting(handle.rest)
  const entries = handle.rest.slice(0, count)
  handle.rest = handle.rest.slice(count)
  return entries
}

function fitting(entries: readonly NamedEntry[]): number {
  let bytes = 0
  const count = entries.slice(0, MOST_ENTRIES).findIndex(entry => (bytes += entryLength(entry)) > MOST_BYTES)
  return count === -1 ? Math.min(entries.length, MOST_ENTRIES) : Math.max(1, count)
}

/** State of each entry, without entries that are gone meanwhile. */
async function describe(
  directory: Directory,
  entries: readonly Entry[],
  permission: FolderPermission,
): Promise<NamedEntry[]> {
  const states = await statesOf(
    directory,
    entries.map(({ name }) => name),
  )
  return entries.flatMap(({ name }, index) => {
    const state = states[index]
    return state ? [{ name: bytesOf(name), attributes: attributesOf(state, permission) }] : []
  })
}
