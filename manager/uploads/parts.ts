import { every } from '#base/every'
import { AppError, because, type UploadId, type UserId } from '#manager/contract'
import { type Log } from '../log.ts'
import { errnoOf } from '../storage/file-errors.ts'
import { type Directory } from '../storage/beneath.ts'
import { type FileState } from '../storage/file-state.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Store } from '../store/open-store.ts'
import { deleteWithoutRight, stillNeeded } from '../store/storage/uploads.ts'

/** A file without an upload is removed only after this time, because its row may be about to be written. */
const YOUNG_MS = 3600_000
const SWEEP_MS = 3600_000

/**
 * The files that collect the bytes of uploads: `uploads/ID` on each storage host, readable only by the manager. Once an hour, files without
 * an upload are removed, and uploads of people who have lost the right to the folder.
 */
export interface Parts extends AsyncDisposable {
  /** Opens the directory of the files. @param user the user in whose turns the calls to the file system run @throws AppError `storage_away` */
  open(host: string, user: UserId): Promise<Directory>
  /** Refuses an upload for which the storage has no space now. @throws AppError `disk_full`, `storage_away` */
  requireSpace(host: string, bytes: number): Promise<void>
}

export function startParts({ store, storage, log }: { store: Store; storage: StorageHosts; log: Log }): Parts {
  const cut = new AbortController()

  async function sweep(): Promise<void> {
    await deleteWithoutRight(store.db).catch((error: unknown) => {
      log.warn({ err: error }, 'unfinished uploads of people without a right to the folder were not deleted')
    })
    for (const host of storage.names) {
      if (cut.signal.aborted) return
      await sweepHost(host).catch((error: unknown) => {
        log.warn({ err: error, storageHost: host }, 'files of ended uploads were not removed')
      })
    }
  }

  async function sweepHost(host: string): Promise<void> {
    await using directory = await storage.openUploads(host)
    await using listing = await directory.list()
    for (;;) {
      const names = (await listing.next()).map(({ name }) => name)
      if (names.length === 0 || cut.signal.aborted) return
      const needed = await stillNeeded(store.db, names.filter(isId))
      for (const name of names) if (!needed.has(name)) await removeOld(directory, name)
    }
  }

  async function removeOld(directory: Directory, name: string): Promise<void> {
    const { modifiedAt } = await directory.lstat(name)
    if (store.now() - modifiedAt.getTime() > YOUNG_MS) await removePart(directory, name)
  }

  const sweeping = every(SWEEP_MS, sweep)
  void sweeping.now()

  return {
    open: (host, user) => storage.openUploads(host, user),
    async requireSpace(host, bytes) {
      const left = await storage.left(host)
      if (bytes <= left) return
      const why = because('upload_needs_space', { bytes, storage: host, left })
      throw new AppError('disk_full', { name: host, ...why })
    },
    async [Symbol.asyncDispose]() {
      cut.abort()
      await sweeping[Symbol.asyncDispose]()
    },
  }
}

/** Does nothing if the file was removed. */
export async function removePart(directory: Directory, id: string): Promise<void> {
  await directory.unlink(id).catch((error: unknown) => {
    if (errnoOf(error) !== 'ENOENT') throw error
  })
}

/** @returns undefined if the file was removed */
export async function statePart(directory: Directory, id: UploadId): Promise<FileState | undefined> {
  return directory.lstat(id).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  })
}

const isId = (name: string) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name)
