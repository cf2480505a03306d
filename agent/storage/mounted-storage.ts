import { type Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { AppError, because } from '#manager/contract'
import { type KernelFolder } from '#agent/contract'
import { readMarker } from './marker.ts'

/** Limit for reading a marker: a share whose server is gone does not answer for minutes, or for ever. */
const ANSWER_MS = 3_000

/** A directory that may be a storage. */
export interface StoragePath {
  /** Name in the settings of the host, which expect a storage there; null if nothing is expected. */
  readonly name: string | null
  /** Absolute. */
  readonly path: string
}

/** The storages that are mounted on this host, and the folders in them. */
export interface MountedStorage {
  /** UUIDs of the storages that were available at the last check. */
  readonly markers: readonly string[]
  /** Names of expected storages that were not available at the last check; empty before the first one. */
  readonly away: readonly string[]
  /** Reads the markers, for three seconds at most; calls `onChange` if a storage came or went. */
  check(): Promise<void>
  /** Directory of a folder on this host. @throws `storage_away`; `folder_not_found` if the storage has no such folder */
  directoryOf(folder: Pick<KernelFolder, 'storage' | 'folder' | 'path'>): Promise<string>
}

/**
 * Threat model: the top of a storage and the directory of its folders belong to the manager and the agent, so no session can rename a
 * folder or put a link in its place. The marker is read again for each session: if a share is not mounted, its mount point is an empty
 * directory of the local disk, in which nothing must be written.
 *
 * @param paths a directory without a marker is no storage, and the agent makes no marker
 * @param look for tests, which are root and may look everywhere
 */
export function createMountedStorage(
  paths: readonly StoragePath[],
  onChange: () => void,
  look: (path: string) => Promise<Pick<Stats, 'isDirectory'>> = lstat,
): MountedStorage {
  let found: ReadonlyMap<string, string> = new Map()
  let away: readonly string[] = []
  const reading = new Map<string, Promise<string | undefined>>()

  /** A file system that does not answer holds a thread of this process, so each path has at most one read in flight. */
  function read(path: string): Promise<string | undefined> {
    let answer = reading.get(path)
    if (!answer) {
      answer = readMarker(path).finally(() => reading.delete(path))
      reading.set(path, answer)
    }
    return Promise.race([answer, delay(ANSWER_MS, undefined, { ref: false })])
  }

  async function check(): Promise<void> {
    const looks = await Promise.all(paths.map(async one => ({ ...one, marker: await read(one.path) })))
    const before = [...found.keys(), ...away].join()
    found = new Map(looks.flatMap(({ marker, path }) => (marker === undefined ? [] : [[marker, path] as const])))
    away = looks.flatMap(({ marker, name }) => (marker === undefined && name !== null ? [name] : []))
    if ([...found.keys(), ...away].join() !== before) onChange()
  }

  return {
    get markers() {
      return [...found.keys()]
    },
    get away() {
      return away
    },
    check,
    async directoryOf({ storage, folder, path: at }) {
      // Wait only for the storage of this folder: another one that does not answer must not delay the start.
      if (!found.has(storage)) await check()
      const path = found.get(storage)
      if (path === undefined || (await read(path)) !== storage) {
        throw new AppError('storage_away', because('storage_of_folder_away', { path: at }))
      }
      const directory = join(path, 'folders', folder)
      const state = await look(directory).catch((error: unknown) => {
        // The directory of folders is open to its owner alone (docs/adr/0019), and this agent is somebody else there.
        if (error instanceof Error && 'code' in error && error.code === 'EACCES') {
          throw new AppError('storage_away', because('storage_of_folder_closed', { path: at }), { cause: error })
        }
      })
      if (state?.isDirectory()) return directory
      throw new AppError('folder_not_found', because('files_of_mount_gone', { path: at }))
    },
  }
}
