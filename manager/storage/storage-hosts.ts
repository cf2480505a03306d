import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, type FolderId, type StorageHost, UUID } from '#manager/contract'
import { insertStorageHost, readMarkers } from '../store/storage/storage-hosts.ts'
import { type Db } from '../store/schema.ts'
import { removeTree } from './remove-tree.ts'

/** File at the top of a storage that holds its UUID. */
export const MARKER = '.berth-storage'
const FOLDERS = 'folders'
const REMOVED = 'removed'

/**
 * The storage hosts of this manager: directories, on disks or shared file systems, in which folders are directories.
 *
 *     PATH/.berth-storage        UUID of the storage; agents look for the same one
 *     PATH/folders/<folder id>/  the files of a folder, owned by the user of sessions
 *     PATH/removed/<folder id>/  a deleted folder, until all its files are gone
 *
 * Threat model: PATH and the directories that hold folders belong to the manager, so no session can rename a folder or put a
 * link in its place. Everything inside a folder is hostile, and nothing here follows a link in it. Nothing is written where
 * the marker is missing or another one: an unmounted share is an empty directory of the local disk.
 */
export interface StorageHosts {
  /** In the order of the configuration, each with the problem that it has now. */
  list(): Promise<StorageHost[]>
  /** Makes the directory of a new folder. @throws AppError `storage_host_not_found`, `storage_away` */
  create(host: string, id: FolderId): Promise<void>
  /** Removes the directory of a folder that nobody has used. */
  discard(host: string, id: FolderId): Promise<void>
  /** Removes a folder with all files. Safe to repeat. @throws AppError `storage_host_not_found`, `storage_away` */
  remove(host: string, id: FolderId, signal: AbortSignal): Promise<void>
}

/** @param paths absolute directory of each storage host, by its name */
export function createStorageHosts({ db, paths }: { db: Db; paths: ReadonlyMap<string, string> }): StorageHosts {
  /** @throws AppError `storage_host_not_found`, `storage_away` */
  async function rootOf(host: string): Promise<string> {
    const path = paths.get(host)
    if (path === undefined) {
      const why = `This Berth has no storage host "${host}".`
      throw new AppError('storage_host_not_found', { name: host, why })
    }
    const problem = await problemOf(host, path)
    if (problem !== null) throw new AppError('storage_away', { name: host, why: problem })
    return path
  }

  /** Marks a storage that is seen for the first time. @returns why the storage cannot be used, or null */
  async function problemOf(host: string, path: string): Promise<string | null> {
    const known = (await readMarkers(db)).get(host)
    const found = await readMarker(path)
    if (known === undefined) return adopt(host, path, found)
    if (found === known) return null
    if (found !== undefined) return `Another storage than that of "${host}" is mounted at ${path}.`
    return `The storage "${host}" is not mounted at ${path}: there is no file ${MARKER}.`
  }

  async function adopt(host: string, path: string, found: string | undefined): Promise<string | null> {
    const marker = found ?? (await writeMarker(path))
    if (marker === undefined) {
      return `${path} is no empty directory: the storage "${host}" needs one of its own, which exists and is mounted.`
    }
    if (await insertStorageHost(db, host, marker)) return null
    return `The storage at ${path} is another storage host of this Berth, and cannot be "${host}" too.`
  }

  return {
    list: () => Promise.all([...paths].map(async ([name, path]) => ({ name, problem: await problemOf(name, path) }))),

    async create(host, id) {
      const root = await rootOf(host)
      await mkdir(join(root, FOLDERS), { recursive: true, mode: 0o711 })
      await mkdir(join(root, FOLDERS, id), { mode: 0o700 }).catch((error: unknown) => {
        throw isCode(error, 'ENOSPC') || isCode(error, 'EDQUOT')
          ? new AppError('storage_away', { name: host, why: `The storage "${host}" is full.` }, { cause: error })
          : error
      })
    },

    async discard(host, id) {
      await rmdir(join(await rootOf(host), FOLDERS, id))
    },

    async remove(host, id, signal) {
      const root = await rootOf(host)
      await mkdir(join(root, REMOVED), { recursive: true, mode: 0o700 })
      // The rename takes all files away at once; removing them may take long, and is continued after an interruption.
      await rename(join(root, FOLDERS, id), join(root, REMOVED, id)).catch((error: unknown) => {
        if (!isCode(error, 'ENOENT')) throw error
      })
      await removeTree(join(root, REMOVED, id), signal)
    },
  }
}

/** @returns undefined where there is no marker */
async function readMarker(path: string): Promise<string | undefined> {
  const file = await open(join(path, MARKER), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined)
  if (!file) return undefined
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(64), 0, 64, 0)
    const text = buffer.toString('utf8', 0, bytesRead).trim()
    return UUID.test(text) ? text : undefined
  } finally {
    await file.close()
  }
}

/** @returns undefined if the directory does not exist or is not empty */
async function writeMarker(path: string): Promise<string | undefined> {
  const found = await lstat(path).catch(() => undefined)
  if (!found?.isDirectory()) return undefined
  const names = await readdir(path)
  // A file system of its own may hold `lost+found`.
  if (names.some(name => name !== 'lost+found')) return readMarker(path)
  const { O_WRONLY, O_CREAT, O_EXCL } = constants
  const marker = randomUUID()
  try {
    const file = await open(join(path, MARKER), O_WRONLY | O_CREAT | O_EXCL, 0o644)
    try {
      await file.writeFile(`${marker}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    return marker
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
    return readMarker(path) // another manager was faster
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
