import {
  type DirectorySpec,
  type FileDeletionSpec,
  type FileEntry,
  type FileMoveSpec,
  type FilesCopied,
  type FilesMoved,
  type FolderId,
  type Task,
} from '#manager/contract'
import { type FolderQuotas } from '../folders/folder-quotas.ts'
import { amount } from '../folders/size-rules.ts'
import { realPathOf } from '../storage/real-path.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Caller } from '../users/authorize.ts'
import { makeDirectory, mayDelete, moveEntry, type Moved, pathsOf, removeEntry, storageFor } from './changes.ts'
import { replacedSize } from './replaced-size.ts'
import { type Expected, writeContent } from './content.ts'
import { copyEntry, requireFreeNames, requireOutside } from './copies.ts'
import { createCopyReservation, type QuotasForCopies } from './copy-reservation.ts'
import { createDownloads, type Downloads } from './downloads.ts'
import { eachPath } from './each-path.ts'
import { requireFewParts } from './few-parts.ts'
import { type HeavyWork } from './heavy-work.ts'
import { type FileHints } from './hints.ts'
import { createLookups, type Lookups } from './lookups.ts'
import { pathThere } from './names-there.ts'
import { type FolderOpener, type FolderRights } from './open-folder.ts'
import { openPlace, parentOf } from './places.ts'
import { limitRequests } from './request-limit.ts'
import { type Sweeps } from './sweeps.ts'
import { type CopyTasks } from './copy-tasks.ts'

/**
 * The operations on files in folders. Each operation opens the folder again, so that a withdrawn permission ends with the operation in
 * progress; long operations are checked while they run. The number of concurrent lists, searches, copies and writes of one person is
 * limited, and users take turns at the storage. All throw `folder_not_found`, `forbidden`, `group_inactive`, `storage_away`,
 * `rate_limited`, and the errors of `Directory`.
 */
export interface Files extends Lookups, Downloads {
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
  /** @throws AppError `file_changed`, `rate_limited`, `not_signed_in`, and errors of `read` */
  write(caller: Caller, id: FolderId, write: FileWrite): Promise<FileEntry>
}

export interface FileWrite {
  readonly path: string
  /**
   * Called once the folder is found; returns the new bytes, and the state that the writer expects. @param signal aborted when the writer
   * may no longer write
   */
  readonly read: (signal: AbortSignal) => Promise<{ bytes: Buffer; expected: Expected }>
}

/** Largest number of files of one person that arrive at the same time to be written whole: each is held in memory. */
const MOST_WRITES = 16
export interface FilesDeps {
  readonly open: FolderOpener
  readonly rights: FolderRights
  readonly storage: Pick<StorageHosts, 'takeAway'>
  readonly sweeps: Pick<Sweeps, 'start'>
  readonly hints: FileHints
  readonly copies: CopyTasks
  readonly quotas: QuotasForCopies & Pick<FolderQuotas, 'take'>
  readonly heavyWork: Pick<HeavyWork, 'enter'>
}

export function createFiles({ open, rights, storage, sweeps, hints, copies, quotas, heavyWork }: FilesDeps): Files {
  const lookups = createLookups(open, rights)
  const enter = limitRequests(MOST_WRITES)
  const storageOf = storageFor(storage)

  async function requireFolder(caller: Caller, id: FolderId): Promise<void> {
    await using _folder = await open(caller, id, 'ro')
  }

  async function readWatched(caller: Caller, id: FolderId, read: FileWrite['read']) {
    const cut = new AbortController()
    using _watched = rights.watch(caller, id, 'rw', refusal => cut.abort(refusal))
    return await read(cut.signal)
  }

  return {
    ...lookups,
    ...createDownloads({ open, rights, heavyWork }),

    async makeDirectory(caller, id, spec) {
      await using folder = await open(caller, id, 'rw')
      await quotas.take(folder.row, amount(0, 1))
      const made = await makeDirectory(folder, spec)
      hints.changed(id, parentOf(spec.path))
      return made
    },

    async move(caller, id, spec) {
      requireFewParts(spec.paths)
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
      requireFewParts(spec.paths)
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
        await using reservation = createCopyReservation(quotas, folder.row)
        const job = { storage: storageOf(folder), progress, signal, reservation }
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
      requireFewParts(paths)
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

    async write(caller, id, { path, read }) {
      using _place = enter(caller)
      await using folder = await open(caller, id, 'rw')
      const content = await readWatched(caller, id, read)
      // Check again, because the body may have taken minutes.
      await rights.require(caller, id, 'rw')
      const isNew = content.expected === 'absent'
      // A file is replaced at its own place, even if it was read through a link; a new one must not take the name of a link.
      const at = isNew ? await pathThere(folder.top, path) : await realPathOf(folder.top, path)
      const replaced = isNew ? 0 : await replacedSize(folder.top, at)
      await quotas.take(folder.row, amount(content.bytes.length - replaced, isNew ? 1 : 0))
      const written = await writeContent(folder, at, content)
      hints.changed(id, parentOf(at))
      return written
    },
  }
}
