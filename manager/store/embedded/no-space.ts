import { statfs } from 'node:fs/promises'
import { AppError } from '#manager/contract'

/** A disk with less free space counts as full: a server cannot start on it. */
const NOTHING_LEFT_BYTES = 1024 * 1024

/**
 * Turns the error into `disk_full` if the disk of `directory` is full. Some failures report it (`ENOSPC`); after others the server exits
 * and reports it only in its log.
 *
 * @returns the error unchanged if the disk is not full
 */
export async function withDiskInMind(error: unknown, directory: string): Promise<unknown> {
  const isTold = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
  if (!isTold && !(await isFull(directory))) return error
  const why = `The disk of ${directory} is full. Free space on it, then start again.`
  return new AppError('disk_full', { why }, { cause: error })
}

async function isFull(directory: string): Promise<boolean> {
  const disk = await statfs(directory).catch(() => undefined)
  return disk !== undefined && disk.bavail * disk.bsize < NOTHING_LEFT_BYTES
}
