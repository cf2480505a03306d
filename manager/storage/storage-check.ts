import { join } from 'node:path'
import { AppError, because, type Because } from '#manager/contract'
import { hasFolders, readMarkers, setMarker } from '../store/storage/storage-hosts.ts'
import { type Log } from '../log.ts'
import { type Db } from '../store/schema.ts'
import { type CallsOf } from './calls.ts'
import { closeToOthers } from './close-to-others.ts'
import { isOfFileSystem } from './file-errors.ts'
import { createMarkerReader, MARKER, writeMarker } from './marker.ts'
import { FOLDERS, REMOVED, UPLOADS } from './directories.ts'

/**
 * Asks whether a storage can be used, and writes the marker of one that is used for the first time.
 *
 * @param known its marker, as the database has it
 * @returns why it cannot be used, or null
 */
export type StorageCheck = (host: string, path: string, known: string | undefined) => Promise<Because | null>

/** @param log is told of storages whose directories cannot be closed to other users of the computer */
export function createStorageCheck({
  db,
  callsOf,
  log,
}: {
  db: Db
  callsOf: CallsOf
  log: Pick<Log, 'warn'> | undefined
}): StorageCheck {
  const readMarker = createMarkerReader()
  /** Markers of the storages whose directories this manager has closed to other users of the computer. */
  const closed = new Set<string>()

  async function problemOf(host: string, path: string, known: string | undefined): Promise<Because | null> {
    try {
      const read = await readMarker(path, callsOf(host))
      if (!read.answered) return because('storage_at_silent', { storage: host, path })
      const found = read.marker
      if (found !== undefined && found === known) {
        await closeOnce(host, path, found)
        return null
      }
      // While no folder is kept there, another directory may take the name.
      if (known === undefined || !(await hasFolders(db, host))) return await adopt(host, path, found)
      if (found !== undefined) return because('storage_at_other', { storage: host, path })
      return because('storage_at_unmounted', { storage: host, path, file: MARKER })
    } catch (error) {
      if (!isOfFileSystem(error)) throw error
      return because('storage_at_unusable', { storage: host, path, text: error.message })
    }
  }

  /** Earlier versions let every user of the computer pass through the directory of folders. */
  async function closeOnce(host: string, path: string, marker: string): Promise<void> {
    if (closed.has(marker)) return
    try {
      for (const name of [FOLDERS, REMOVED, UPLOADS]) await callsOf(host).run(() => closeToOthers(join(path, name)))
    } catch (error) {
      // A storage that does not answer now is closed when it is used next.
      if (error instanceof AppError) return
      if (!isOfFileSystem(error)) throw error
      // Some shares have fixed modes or owners, and were of use before. `berth doctor` says what to do.
      log?.warn({ storageHost: host, err: error }, 'other users of this computer may reach the files of sessions')
    }
    closed.add(marker)
  }

  async function adopt(host: string, path: string, found: string | undefined): Promise<Because | null> {
    const marker = found ?? (await writeMarker(path))
    if (marker === undefined) {
      return because('storage_at_not_empty', { storage: host, path })
    }
    if (await setMarker(db, host, marker)) {
      await closeOnce(host, path, marker)
      return null
    }
    return (await readMarkers(db)).get(host) === undefined
      ? because('storage_at_has_name', { storage: host, path })
      : because('storage_at_differs', { storage: host, path })
  }

  return problemOf
}
