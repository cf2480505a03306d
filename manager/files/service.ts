import { createOpenCounts, type OpenCounts } from '#base/open-counts'
import {
  AppError,
  because,
  type DirectorySpec,
  type FileDeletionSpec,
  type FileEntry,
  type FileListQuery,
  type FileMoveSpec,
  type FilePage,
  type FilesCopied,
  type FileSearchQuery,
  type FilesFound,
  type FilesMoved,
  type FolderId,
  type Task,
} from '#manager/contract'
import { type FolderRoom } from '../folders/room.ts'
import { amount } from '../folders/size-rules.ts'
import { type Directory } from '../storage/beneath.ts'
import { followingLinks, realPathOf } from '../storage/real-path.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Caller } from '../users/authorize.ts'
import { entriesOf, requireFewFiles } from './archive.ts'
import { bundleOf } from './bundle.ts'
import { checksumsOf } from './checksums.ts'
import { makeDirectory, mayDelete, moveEntry, type Moved, pathsOf, removeEntry, storageFor } from './changes.ts'
import { replacedSize } from './replaced-size.ts'
import { type Expected, openContent, type SentContent, type Watched, writeContent } from './content.ts'
import { copyEntry, requireFreeNames, requireOutside } from './copies.ts'
import { createCopyRoom, type RoomForCopies } from './copy-room.ts'
import { eachPath } from './each-path.ts'
import { type HeavyRequest, type HeavyWork } from './heavy-work.ts'
import { type FileHints } from './hints.ts'
import { entryAt, withTargets } from './link-targets.ts'
import { pathThere } from './names-there.ts'
import { createPages } from './listing.ts'
import { type FolderOpener, type FolderRights } from './open-folder.ts'
import { openPlace, parentOf } from './places.ts'
import { searchNames } from './search.ts'
import { type Sweeps } from './sweeps.ts'
import { type CopyTasks } from './copy-tasks.ts'
import { zipOf } from './zip.ts'

/**
 * The operations on files in folders. Each opens the folder again: a permission that was withdrawn ends with the operation in
 * progress, and what lasts is checked while it does. One person has a bounded number of lists, searches, copies and
 * writes at a time, and users take turns at the storage. All throw `folder_not_found`, `forbidden`, `group_inactive`, `storage_away`,
 * `rate_limited`, and the errors of `Directory`.
 */
export interface Files extends AsyncDisposable {
  list(caller: Caller, id: FolderId, query: FileListQuery): Promise<FilePage>
  get(caller: Caller, id: FolderId, path: string): Promise<FileEntry>
  search(caller: Caller, id: FolderId, query: FileSearchQuery, signal: AbortSignal): Promise<FilesFound>
  makeDirectory(caller: Caller, id: FolderId, spec: DirectorySpec): Promise<FileEntry>
  move(caller: Caller, id: FolderId, spec: FileMoveSpec): Promise<FilesMoved>
  /** Waits a second; a copy that takes longer continues as a task, and ends when the right to it is withdrawn. */
  copy(caller: Caller, id: FolderId, spec: FileMoveSpec): Promise<FilesCopied>
  /** Copies of the caller that became tasks. */
  copies(caller: Caller, id: FolderId): Promise<Task[]>
  /** @throws AppError `task_not_found` */
  getCopy(caller: Caller, id: FolderId, taskId: string): Promise<Task>
  /** @throws AppError `task_not_found` */
  cancelCopy(caller: Caller, id: FolderId, taskId: string): Promise<Task>
  remove(caller: Caller, id: FolderId, spec: FileDeletionSpec): Promise<void>
  /** Opens a file to download; it must be disposed. */
  open(caller: Caller, id: FolderId, path: string): Promise<SentContent>
  /** @throws AppError `file_changed`, `rate_limited`, `not_signed_in`, and what `read` throws */
  write(caller: Caller, id: FolderId, write: FileWrite): Promise<FileEntry>
  /** Begins a ZIP file; it must be disposed. @throws AppError `too_many_files` */
  archive(caller: Caller, id: FolderId, paths: readonly string[], signal: AbortSignal): Promise<Archive>
  /** A bundle of small files. The first read opens the folder; it must be read to its end, or returned. */
  bundle(caller: Caller, id: FolderId, paths: readonly string[], signal: AbortSignal): Sending
  /** Lines of JSON with the SHA-256 of each file; otherwise as `bundle`. */
  checksums(caller: Caller, id: FolderId, paths: readonly string[], signal: AbortSignal): Sending
}

/** Bytes in the making, with the turns of their reader. Disposing ends the request that counts for the reader. */
export interface Sending extends Disposable, Watched {
  readonly bytes: ByteStream
  readonly heavy: Pick<HeavyRequest, 'turn'>
}

export type ByteStream = AsyncGenerator<Uint8Array, void, undefined>

export interface FileWrite {
  readonly path: string
  /**
   * Called once the folder is found, for the new bytes and what the writer expects to be there.
   *
   * @param signal aborted when the writer may not write any more
   */
  readonly read: (signal: AbortSignal) => Promise<{ bytes: Buffer; expected: Expected }>
}

/** A ZIP file in the making. Disposing closes the folder. */
export interface Archive extends AsyncDisposable, Watched {
  /** Name of the ZIP file without `.zip`. */
  readonly name: string
  readonly bytes: ByteStream
  readonly heavy: Pick<HeavyRequest, 'turn'>
}

/** Files of one person that arrive at the same time to be written whole: each is held in memory. */
const MOST_WRITES = 16
/** Lists and searches of one person at the same time: each may be of a million entries. The command line has five. */
const MOST_LOOKUPS = 24
const RETRY_AFTER_SECONDS = 5

export interface FilesDeps {
  readonly open: FolderOpener
  readonly rights: FolderRights
  readonly storage: Pick<StorageHosts, 'takeAway'>
  readonly sweeps: Pick<Sweeps, 'start'>
  readonly hints: FileHints
  readonly copies: CopyTasks
  readonly room: RoomForCopies & Pick<FolderRoom, 'take'>
  readonly heavyWork: Pick<HeavyWork, 'enter'>
}

export function createFiles({ open, rights, storage, sweeps, hints, copies, room, heavyWork }: FilesDeps): Files {
  const pages = createPages()
  const writes = createOpenCounts()
  const lookups = createOpenCounts()
  const storageOf = storageFor(storage)

  async function requireFolder(caller: Caller, id: FolderId): Promise<void> {
    await using _folder = await open(caller, id, 'ro')
  }

  const watchOf =
    (caller: Caller, id: FolderId): Watched['watch'] =>
    cut =>
      rights.watch(caller, id, 'ro', cut)

  function sending(
    heavy: HeavyRequest,
    { caller, id }: { caller: Caller; id: FolderId },
    bytesOf: (top: Directory) => ByteStream,
  ): Sending {
    const bytes = async function* (): ByteStream {
      await using folder = await open(caller, id, 'ro')
      yield* bytesOf(folder.top)
    }
    return { bytes: bytes(), heavy, watch: watchOf(caller, id), [Symbol.dispose]: () => heavy[Symbol.dispose]() }
  }

  function enter(counts: OpenCounts, { userId }: Caller, limit: number): Disposable {
    const leave = counts.take(userId, limit)
    if (leave) return { [Symbol.dispose]: leave }
    const why = because('file_requests', { limit })
    throw new AppError('rate_limited', { ...why, retryAfterSeconds: RETRY_AFTER_SECONDS })
  }

  async function readWatched(caller: Caller, id: FolderId, read: FileWrite['read']) {
    const cut = new AbortController()
    using _watched = rights.watch(caller, id, 'rw', refusal => cut.abort(refusal))
    return await read(cut.signal)
  }

  return {
    async list(caller, id, query) {
      using _place = enter(lookups, caller, MOST_LOOKUPS)
      // A page may come from a directory that was opened for the page before it.
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
      using _place = enter(lookups, caller, MOST_LOOKUPS)
      await using folder = await open(caller, id, 'ro')
      const found = await searchNames(folder.top, query, signal)
      // Checked again: the search may have taken ten seconds.
      await rights.require(caller, id, 'ro')
      return found
    },

    async makeDirectory(caller, id, spec) {
      await using folder = await open(caller, id, 'rw')
      await room.take(folder.row, amount(0, 1))
      const made = await makeDirectory(folder, spec)
      hints.changed(id, parentOf(spec.path))
      return made
    },

    async move(caller, id, spec) {
      await using folder = await open(caller, id, 'delete')
      await using target = await folder.top.walk(spec.to)
      const where = { top: folder.top, target }
      const swept = new Set<string>()
      try {
        const moved = await eachPath(spec.paths, async path => {
          const one = await moveEntry(storageOf(folder), { ...where, path }, spec)
          if (one.swept) swept.add(folder.row.storage_host)
          hints.changed(id, parentOf(path))
          return pathsOf(one)
        })
        return { items: moved }
      } finally {
        hints.changed(id, spec.to)
        swept.forEach(host => sweeps.start(host))
      }
    },

    async copy(caller, id, spec) {
      await using stack = new AsyncDisposableStack()
      stack.use(copies.enter(caller))
      const need = mayDelete(spec.onConflict) ? 'delete' : 'rw'
      const folder = stack.use(await open(caller, id, need))
      const target = stack.use(await folder.top.walk(spec.to))
      spec.paths.forEach(path => requireOutside(path, spec.to))
      await requireFreeNames(target, spec)
      const held = stack.move()
      const items: Moved[] = []
      const check = () => rights.require(caller, id, need)
      return await copies.run({ caller, folder: folder.row, items, check }, async (progress, signal) => {
        await using _held = held
        await using copyRoom = createCopyRoom(room, folder.row)
        const job = { storage: storageOf(folder), progress, signal, room: copyRoom }
        try {
          await eachPath(spec.paths, async path => {
            await using from = await openPlace(folder.top, path)
            const one = await copyEntry({ from, target, path }, spec, job)
            if (one.swept) sweeps.start(folder.row.storage_host)
            items.push(pathsOf(one))
          })
        } catch (error) {
          sweeps.start(folder.row.storage_host)
          throw error
        } finally {
          hints.changed(id, spec.to)
        }
      })
    },

    async copies(caller, id) {
      await requireFolder(caller, id)
      return copies.list(caller, id)
    },
    async getCopy(caller, id, taskId) {
      await requireFolder(caller, id)
      return copies.get(caller, id, taskId)
    },
    async cancelCopy(caller, id, taskId) {
      await requireFolder(caller, id)
      return copies.cancel(caller, id, taskId)
    },

    async remove(caller, id, { paths }) {
      await using folder = await open(caller, id, 'delete')
      const swept = new Set<string>()
      try {
        await eachPath(paths, async path => {
          await using place = await openPlace(folder.top, path)
          if (await removeEntry(storageOf(folder), place)) swept.add(folder.row.storage_host)
          hints.changed(id, parentOf(path))
        })
      } finally {
        swept.forEach(host => sweeps.start(host))
      }
    },

    async open(caller, id, path) {
      await using stack = new AsyncDisposableStack()
      const heavy = stack.use(heavyWork.enter(caller.userId))
      const folder = stack.use(await open(caller, id, 'ro'))
      const content = stack.use(await openContent(folder.top, path))
      const kept = stack.move()
      return { ...content, heavy, watch: watchOf(caller, id), [Symbol.asyncDispose]: () => kept.disposeAsync() }
    },

    async write(caller, id, { path, read }) {
      using _place = enter(writes, caller, MOST_WRITES)
      await using folder = await open(caller, id, 'rw')
      const content = await readWatched(caller, id, read)
      // Checked again: the body may have taken minutes.
      await rights.require(caller, id, 'rw')
      const isNew = content.expected === 'absent'
      // A file is replaced where it is, also if it was read by a link; a new one takes no name that a link has.
      const at = isNew ? await pathThere(folder.top, path) : await realPathOf(folder.top, path)
      const replaced = isNew ? 0 : await replacedSize(folder.top, at)
      await room.take(folder.row, amount(content.bytes.length - replaced, isNew ? 1 : 0))
      const written = await writeContent(folder, at, content)
      hints.changed(id, parentOf(at))
      return written
    },

    async archive(caller, id, paths, signal) {
      await using stack = new AsyncDisposableStack()
      const heavy = stack.use(heavyWork.enter(caller.userId))
      const folder = stack.use(await open(caller, id, 'ro'))
      await requireFewFiles(folder.top, paths, signal)
      const kept = stack.move()
      const [path = '', ...more] = paths
      const name = path === '' || more.length > 0 ? folder.row.name : (path.split('/').at(-1) ?? folder.row.name)
      const bytes = zipOf(entriesOf(folder.top, { paths, name: folder.row.name, signal }), heavy)
      return {
        name,
        bytes,
        heavy,
        watch: watchOf(caller, id),
        async [Symbol.asyncDispose]() {
          await bytes.return()
          await kept.disposeAsync()
        },
      }
    },

    bundle(caller, id, paths, signal) {
      const heavy = heavyWork.enter(caller.userId)
      return sending(heavy, { caller, id }, top => bundleOf(top, paths, signal))
    },

    checksums(caller, id, paths, signal) {
      const heavy = heavyWork.enter(caller.userId)
      return sending(heavy, { caller, id }, top => checksumsOf(top, paths, { signal, heavy }))
    },

    [Symbol.asyncDispose]: () => pages[Symbol.asyncDispose](),
  }
}
