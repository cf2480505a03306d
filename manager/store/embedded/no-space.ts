import { statfs } from 'node:fs/promises'
import { AppError } from '#manager/contract'

/** Less is left of a disk that a server could not start on for want of space. */
const NOTHING_LEFT_BYTES = 1024 * 1024

/**
 * What went wrong, where the reason is that the disk is full: some failures say so (`ENOSPC`), others end a server that tells its
 * log only.
 */
export async function withDiskInMind(error: unknown, directory: string): Promise<unknown> {
  const isTold = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
  if (!isTold && !(await isFull(directory))) return error
  const why = `The disk of ${directory} is full. Make room on it, then start again.`
  return new AppError('disk_full', { why }, { cause: error })
}

async function isFull(directory: string): Promise<boolean> {
  const disk = await statfs(directory).catch(() => undefined)
  return disk !== undefined && disk.bavail * disk.bsize < NOTHING_LEFT_BYTES
}
