import { constants } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, UUID } from '#manager/contract'
import { type KernelFolder } from '#agent/contract'

const MARKER = '.berth-storage'

/** The storages that are mounted on this host, and the folders in them. */
export interface MountedStorage {
  /** UUIDs of the storages that were there at the last look. */
  readonly markers: readonly string[]
  /** Reads the markers; calls `onChange` if a storage came or went. */
  look(): Promise<void>
  /** Directory of a folder on this host. @throws `storage_away` */
  directoryOf(folder: Pick<KernelFolder, 'storage' | 'folder'>): Promise<string>
}

/**
 * Threat model: the top of a storage and the directory of its folders belong to the manager and the agent, so no session can
 * rename a folder or put a link in its place. The marker is read again for each session: where a share is not mounted, its
 * mount point is an empty directory of the local disk, in which nothing may be written.
 *
 * @param paths absolute directories that may be storages; a directory without a marker is none, and the agent makes no marker
 */
export function createMountedStorage(paths: readonly string[], onChange: () => void): MountedStorage {
  let found: ReadonlyMap<string, string> = new Map()

  async function look(): Promise<void> {
    const pairs = await Promise.all(paths.map(async path => [await readMarker(path), path] as const))
    const before = [...found.keys()].join()
    found = new Map(pairs.flatMap(([marker, path]) => (marker === undefined ? [] : [[marker, path] as const])))
    if ([...found.keys()].join() !== before) onChange()
  }

  return {
    get markers() {
      return [...found.keys()]
    },
    look,
    async directoryOf({ storage, folder }) {
      await look()
      const path = found.get(storage)
      if (path === undefined) {
        throw new AppError('storage_away', { why: 'The storage of a folder is not mounted on this host any more.' })
      }
      const directory = join(path, 'folders', folder)
      const state = await lstat(directory).catch(() => undefined)
      if (state?.isDirectory()) return directory
      throw new AppError('storage_away', { why: `The directory of folder ${folder} is missing on its storage.` })
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
