import { mkdir, readdir, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, BackupName, type Backups, because } from '#manager/contract'
import { errnoOf } from '../storage/file-errors.ts'

/**
 * The directory of the backups that Berth makes by itself or on request.
 *
 * Threat model: backups hold password hashes, so the directory is 0700 if it is made here, and files are 0600. Only files whose names fit
 * our pattern are listed and deleted: other files are left alone.
 */
export interface BackupDirectory {
  readonly path: string
  /** Complete backups, newest first; empty if the directory does not exist yet. */
  list(): Promise<Backups['items']>
  /** Free space in bytes; null if unknown. */
  freeBytes(): Promise<number | null>
  /** Makes the directory, and removes incomplete files of a killed manager. Call it only while nothing is being written. */
  prepare(): Promise<void>
  /** @throws AppError `backup_not_found` */
  remove(name: string): Promise<void>
  /** Deletes all but the `keep` newest. @returns the names of those deleted */
  prune(keep: number): Promise<string[]>
}

const PARTIAL = /^berth-\d{8}-\d{6}\.backup\.partial-\d+$/

/** Name of a backup made at `now`, in milliseconds since 1970. Names sort by time. */
export function backupName(now: number): string {
  const [date = '', time = ''] = new Date(now).toISOString().split('T')
  return `berth-${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}.backup`
}

/** The time in the name of a backup. */
export function backupTime(name: string): string {
  return name.replace(/^berth-(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)\.backup$/, '$1-$2-$3T$4:$5:$6.000Z')
}

/** Errors of this directory are AppErrors: `disk_full`, `backup_directory`. */
export function createBackupDirectory(path: string): BackupDirectory {
  const names = async () => {
    const all = await readdir(path).catch((error: unknown) => {
      if (errnoOf(error) === 'ENOENT') return []
      throw toBackupError(error, path)
    })
    return all.filter(name => BackupName.safeParse(name).success).sort((a, b) => (a < b ? 1 : -1))
  }
  const removeFile = async (name: string) => {
    try {
      await rm(join(path, name))
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') throw new AppError('backup_not_found', { name }, { cause: error })
      throw toBackupError(error, path)
    }
  }
  return {
    path,
    async list() {
      const found = (await names()).map(async name => {
        // The file may have been deleted just now.
        const file = await stat(join(path, name)).catch(() => undefined)
        return file?.isFile() ? [{ name, madeAt: backupTime(name), bytes: file.size }] : []
      })
      return (await Promise.all(found)).flat()
    },
    async freeBytes() {
      const disk = await statfs(path).catch(() => undefined)
      return disk ? disk.bavail * disk.bsize : null
    },
    async prepare() {
      try {
        await mkdir(path, { recursive: true, mode: 0o700 })
        for (const name of await readdir(path)) if (PARTIAL.test(name)) await rm(join(path, name), { force: true })
      } catch (error) {
        throw toBackupError(error, path)
      }
    },
    remove: removeFile,
    async prune(keep) {
      const old = (await names()).slice(keep)
      for (const name of old) await removeFile(name)
      return old
    },
  }
}

const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG']

/** Turns an error of the file system into one with a code; other errors stay. @param directory of the backups */
export function toBackupError(error: unknown, directory: string): unknown {
  const errno = errnoOf(error)
  if (error instanceof AppError || errno === undefined) return error
  return FULL.includes(errno)
    ? new AppError('disk_full', because('backup_disk_full', { directory }), { cause: error })
    : new AppError('backup_directory', because('backup_directory_refused', { directory, errno }), { cause: error })
}
