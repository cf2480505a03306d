import { AppError, because, type FileImportSpec, type FilesCopied, type FolderId } from '#manager/contract'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Caller } from '../users/authorize.ts'
import { mayDelete, type Moved, pathsOf, removeEntry, storageFor } from './changes.ts'
import { type CopyTasks } from './copy-tasks.ts'
import { copyEntry, requireFreeNames } from './copies.ts'
import { createCopyReservation, type QuotasForCopies } from './copy-reservation.ts'
import { eachPath } from './each-path.ts'
import { requireFewParts } from './few-parts.ts'
import { type FileHints } from './hints.ts'
import { type FolderOpener, type FolderRights, type OpenFolder, requireFilled } from './open-folder.ts'
import { openPlace, parentOf, type Place } from './places.ts'
import { type Files } from './service.ts'
import { type Sweeps } from './sweeps.ts'
import { createTreeDigest } from './tree-digest.ts'

/**
 * Copies and moves files between folders.
 *
 * A move is always a copy whose original is deleted at the end: folders may lie on different storages and have different owners and quotas,
 * and after a rename, a file with several names would belong to two folders. An original that has changed since it was copied is not
 * deleted.
 */
export interface Imports {
  /**
   * Waits a second; longer work continues as a task. Both folders stay open, and the rights to both are checked every few seconds. @throws
   * AppError `folder_not_found`, `forbidden`, `folder_incomplete`, `file_exists`, `file_changed`, `quota_folder_full`, `disk_full`
   */
  bring(caller: Caller, id: FolderId, spec: FileImportSpec): Promise<FilesCopied>
}

export interface ImportsDeps {
  readonly open: FolderOpener
  readonly rights: Pick<FolderRights, 'require'>
  readonly files: Pick<Files, 'copy' | 'move'>
  readonly storage: Pick<StorageHosts, 'takeAway'>
  readonly sweeps: Pick<Sweeps, 'start'>
  readonly hints: FileHints
  readonly copies: CopyTasks
  readonly quotas: QuotasForCopies
}

export function createImports({ open, rights, files, storage, sweeps, hints, copies, quotas }: ImportsDeps): Imports {
  const storageOf = storageFor(storage)

  async function removeOriginal(folder: OpenFolder, from: Place, path: string): Promise<void> {
    try {
      if (await removeEntry(storageOf(folder), from)) sweeps.start(folder.row.storage_host)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const { name } = from
      throw new AppError(error.code, { ...error.detail, ...because('original_left', { name }) }, { cause: error })
    } finally {
      hints.changed(folder.row.id, parentOf(path))
    }
  }

  return {
    async bring(caller, id, { from: fromId, mode, ...spec }) {
      requireFewParts(spec.paths)
      const isMove = mode === 'move'
      if (fromId === id) {
        return isMove ? { ...(await files.move(caller, id, spec)), task: null } : await files.copy(caller, id, spec)
      }
      await using stack = new AsyncDisposableStack()
      stack.use(copies.enter(caller))
      const [need, needThere] = [mayDelete(spec.onConflict) ? 'delete' : 'rw', isMove ? 'delete' : 'ro'] as const
      const folder = stack.use(await open(caller, id, need))
      const source = stack.use(await open(caller, fromId, needThere))
      for (const one of [folder, source]) requireFilled(one)
      const target = stack.use(await folder.top.walk(spec.to))
      await requireFreeNames(target, spec)
      const held = stack.move()
      const items: Moved[] = []
      const check = async () => {
        await rights.require(caller, id, need)
        await rights.require(caller, fromId, needThere)
      }
      return await copies.run({ caller, folder: folder.row, items, check }, async (progress, signal) => {
        await using _held = held
        await using reservation = createCopyReservation(quotas, folder.row)
        const job = { storage: storageOf(folder), progress, signal, reservation }
        try {
          await eachPath(spec.paths, async path => {
            await using from = await openPlace(source.top, path)
            const noted = isMove ? { noted: createTreeDigest() } : {}
            const one = await copyEntry({ from, target, path }, spec, { ...job, ...noted })
            if (one.swept) sweeps.start(folder.row.storage_host)
            if (isMove) await removeOriginal(source, from, path)
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
  }
}
