import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rmdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, because, type FolderId, type StorageHost, type UserId } from '#manager/contract'
import { readMarkers } from '../store/storage/storage-hosts.ts'
import { type Log } from '../log.ts'
import { type Db } from '../store/schema.ts'
import { type Directory, openTop } from './beneath.ts'
import { type CallsOf, createStorageCalls, type StorageCalls } from './calls.ts'
import { type DiskFloor } from './disk-floor.ts'
import { FOLDERS, REMOVED, UPLOADS } from './directories.ts'
import { errnoOf, isOfFileSystem } from './file-errors.ts'
import { createFolderQuotas, type FolderLimits, type FolderQuotas, type Unenforced } from './folder-quota.ts'
import { readMarkerIn } from './marker.ts'
import { measureTree, type TreeSize } from './measure-tree.ts'
import { removeTree } from './remove-tree.ts'
import { createStorageCheck } from './storage-check.ts'

/** Prefix of the names of directories that were taken out of folders. */
const AWAY = 'files-'

/**
 * The storage hosts of this manager: directories, on disks or shared file systems, in which folders are directories.
 *
 *     PATH/.berth-storage        UUID of the storage; agents look for the same one
 *     PATH/folders/<folder id>/  the files of a folder, owned by the user of sessions
 *     PATH/removed/<folder id>/  a deleted folder, until all its files are gone
 *     PATH/uploads/<upload id>   the bytes of an upload that have arrived
 *     PATH/removed/files-<uuid>  a directory deleted in a folder, until all its files are gone
 *
 * Threat model: PATH and the directories that hold folders belong to the manager, so no session can rename a folder or put a
 * link in its place. Other users of the computer cannot pass through those directories (0700, corrected when a manager first sees a
 * storage): they would run set-user-id programs that sessions have put there. Everything inside a folder is hostile, and nothing here follows a link in it. Nothing is written where
 * the marker is missing or another one: an unmounted share is an empty directory of the local disk.
 */
export interface StorageHosts {
  /** In the order of the configuration. */
  readonly names: readonly string[]
  /** In the same order, each with its current problem or the space on its file system. */
  list(): Promise<StorageHost[]>
  /** Creates the directory of a new folder. @throws AppError `storage_host_not_found`, `storage_away` */
  create(host: string, id: FolderId): Promise<void>
  /**
   * Opens the top of a folder. Close it after everything that was opened in it.
   *
   * @param user user in whose turn all calls below it run; the manager's own turn if left out
   * @throws AppError `storage_host_not_found`, `storage_away`; `folder_not_found` if the storage has no such folder
   */
  open(host: string, id: FolderId, user?: UserId): Promise<Directory>
  /**
   * Sets or removes the limits that the file system enforces for a folder. @returns why it cannot enforce them @throws AppError
   * `storage_host_not_found`, `storage_away`
   */
  limit(host: string, id: FolderId, limits: FolderLimits): Promise<Unenforced>
  /** Counts a folder. @throws AppError `storage_host_not_found`, `storage_away`; Error, also if the signal is aborted */
  measure(host: string, id: FolderId, signal: AbortSignal): Promise<TreeSize>
  /** Opens the directory of unfinished uploads. @param user as for `open` @throws AppError `storage_host_not_found`, `storage_away` */
  openUploads(host: string, user?: UserId): Promise<Directory>
  /**
   * Takes a directory out of a folder at once, with everything in it; `sweep` removes the files.
   *
   * @param from open directory in a folder of this storage host
   * @throws AppError `file_not_found`, `storage_away`
   */
  takeAway(host: string, from: Directory, name: string): Promise<void>
  /** Bytes that may be written now. @throws AppError `storage_host_not_found`, `storage_away` */
  left(host: string): Promise<number>
  /** Removes all files that were taken away, also those of an earlier run. @throws AppError `storage_away` */
  sweep(host: string, signal: AbortSignal): Promise<void>
  /** Removes the directory of a folder that nobody has used. */
  discard(host: string, id: FolderId): Promise<void>
  /** Removes a folder with all files. Safe to repeat. @throws AppError `storage_host_not_found`, `storage_away` */
  remove(host: string, id: FolderId, signal: AbortSignal): Promise<void>
}

const NO_FLOOR: DiskFloor = { left: () => Promise.resolve(Infinity), require: () => Promise.resolve() }

/** @param paths absolute directory of each storage host, by its name */
export function createStorageHosts({
  db,
  paths,
  quotas = createFolderQuotas(),
  floor = NO_FLOOR,
  log,
}: {
  db: Db
  paths: ReadonlyMap<string, string>
  quotas?: FolderQuotas
  floor?: DiskFloor
  log?: Pick<Log, 'warn'>
}): StorageHosts {
  const plainCallsOf = createStorageCalls()
  const callsOf: CallsOf = (host, user) => {
    const calls = plainCallsOf(host, user)
    const path = paths.get(host) ?? ''
    return { ...calls, requireRoom: bytes => floor.require({ host, path, calls }, bytes) }
  }
  const problemOf = createStorageCheck({ db, callsOf, log })

  /** @throws AppError `storage_host_not_found`, `storage_away` */
  async function rootOf(host: string): Promise<string> {
    const path = paths.get(host)
    if (path === undefined) {
      throw new AppError('storage_host_not_found', { name: host, ...because('storage_unknown', { storage: host }) })
    }
    const problem = await problemOf(host, path, (await readMarkers(db)).get(host))
    if (problem !== null) throw new AppError('storage_away', { name: host, ...problem })
    return path
  }

  /** @throws AppError `storage_host_not_found`, `storage_away` */
  async function openRoot(host: string, user?: UserId): Promise<Directory> {
    const path = await rootOf(host)
    const calls = callsOf(host, user)
    await using stack = new AsyncDisposableStack()
    const root = stack.use(await openTop(path, calls))
    // The storage may have been unmounted since its marker was read by path, so read the marker through the open directory.
    const [found, markers] = await Promise.all([calls.run(() => readMarkerIn(root)), readMarkers(db)])
    if (found !== undefined && found === markers.get(host)) {
      stack.move()
      return root
    }
    throw new AppError('storage_away', { name: host, ...because('storage_unmounted', { storage: host }) })
  }

  return {
    names: [...paths.keys()],
    async list() {
      const markers = await readMarkers(db)
      return Promise.all(
        [...paths].map(async ([name, path]) => {
          const problem = await problemOf(name, path, markers.get(name))
          if (problem === null) return { name, problem, space: await spaceOf(callsOf(name), path) }
          const { why, ...key } = problem
          return { name, problem: why, ...key, space: null }
        }),
      )
    },

    async create(host, id) {
      const root = await rootOf(host)
      const calls = callsOf(host)
      await calls.run(() => mkdir(join(root, FOLDERS), { recursive: true, mode: 0o700 }))
      await calls
        .run(() => quotas.create(join(root, FOLDERS, id)))
        .catch((error: unknown) => {
          throw errnoOf(error) === 'ENOSPC' || errnoOf(error) === 'EDQUOT'
            ? new AppError(
                'storage_away',
                { name: host, ...because('storage_full', { storage: host }) },
                { cause: error },
              )
            : error
        })
    },

    async open(host, id, user) {
      await using root = await openRoot(host, user)
      try {
        return await root.withPath(here => openTop(join(here, FOLDERS, id), callsOf(host, user)))
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw error
        const why = because('files_of_folder_gone', { storage: host })
        throw new AppError('folder_not_found', { folderId: id, ...why }, { cause: error })
      }
    },

    async limit(host, id, limits) {
      return quotas.limit(join(await rootOf(host), FOLDERS, id), limits)
    },

    async measure(host, id, signal) {
      return measureTree(join(await rootOf(host), FOLDERS, id), signal)
    },

    async openUploads(host, user) {
      await using root = await openRoot(host, user)
      const open = () => root.withPath(here => openTop(join(here, UPLOADS), callsOf(host, user)))
      return await open().catch(async (error: unknown) => {
        if (errnoOf(error) !== 'ENOENT') throw error
        await callsOf(host, user).run(() =>
          root.withPath(here => mkdir(join(here, UPLOADS), { recursive: true, mode: 0o700 })),
        )
        return open()
      })
    },

    async takeAway(host, from, name) {
      const root = await rootOf(host)
      const calls = callsOf(host)
      await calls.run(() => mkdir(join(root, REMOVED), { recursive: true, mode: 0o700 }))
      await using removed = await openTop(join(root, REMOVED), calls)
      await takeOut(from, name, removed)
    },

    async left(host) {
      const path = await rootOf(host)
      const calls = callsOf(host)
      const { bavail, bsize } = await calls.run(() => statfs(path))
      return Math.min(bavail * bsize, await floor.left({ host, path, calls }))
    },

    async sweep(host, signal) {
      const removed = join(await rootOf(host), REMOVED)
      const names = await callsOf(host).run(() => readdir(removed).catch(() => []))
      for (const name of names.filter(one => one.startsWith(AWAY))) await removeTree(join(removed, name), { signal })
    },

    async discard(host, id) {
      const root = await rootOf(host)
      await callsOf(host).run(() => rmdir(join(root, FOLDERS, id)))
    },

    async remove(host, id, signal) {
      const root = await rootOf(host)
      const calls = callsOf(host)
      await calls.run(() => mkdir(join(root, REMOVED), { recursive: true, mode: 0o700 }))
      // The rename takes all files away at once; removing them may take long, and continues after an interruption.
      await calls
        .run(() => rename(join(root, FOLDERS, id), join(root, REMOVED, id)))
        .catch((error: unknown) => {
          if (errnoOf(error) !== 'ENOENT') throw error
        })
      await removeTree(join(root, REMOVED, id), { signal })
    },
  }
}

/** @returns null where the file system does not answer */
async function spaceOf(calls: StorageCalls, path: string): Promise<StorageHost['space']> {
  try {
    const { bsize, blocks, bfree, bavail } = await calls.run(() => statfs(path))
    // As df(1) counts: blocks that only root may fill are neither used nor free.
    return { usedBytes: (blocks - bfree) * bsize, freeBytes: bavail * bsize }
  } catch (error) {
    if (error instanceof AppError || isOfFileSystem(error)) return null
    throw error
  }
}

/** Moves a directory of a folder to the removed ones. */
async function takeOut(from: Directory, name: string, removed: Directory): Promise<void> {
  const away = `${AWAY}${randomUUID()}`
  try {
    await from.rename(name, removed, away)
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error
    // The folder has a quota, subvolumes or mounts of its own, which a rename cannot cross: remove the files inside the folder.
    await from.rename(name, from, `.${away}`)
    await from.withPath(path => removeTree(`.${away}`, { within: Number(path.split('/').at(-1)) }))
  }
}
