import { AppError, type ErrorCode } from '#manager/contract'

const KNOWN: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  ENOENT: ['file_not_found', 'does not exist.'],
  EEXIST: ['file_exists', 'exists already. Choose another name.'],
  ENOTEMPTY: ['directory_not_empty', 'is a directory with files in it.'],
  ENOTDIR: ['file_kind_refused', 'is no directory. Links are not followed.'],
  ELOOP: ['file_kind_refused', 'is a link. Links are not followed.'],
  EISDIR: ['file_kind_refused', 'is a directory.'],
  EINVAL: ['file_kind_refused', 'cannot be moved into itself, or has a name that the storage does not accept.'],
  ENXIO: ['file_kind_refused', 'is no regular file.'],
  EACCES: ['forbidden', 'is not for Berth to read or change: the permissions on the storage forbid it.'],
  EPERM: ['forbidden', 'is not for Berth to read or change: the permissions on the storage forbid it.'],
  EBUSY: ['folder_in_use', 'is in use on the storage. Try again later.'],
  ENAMETOOLONG: ['path_invalid', 'has a name that is too long for the storage.'],
  EILSEQ: ['path_invalid', 'has a name that the storage does not accept.'],
  ENOSPC: ['disk_full', 'cannot be written: the storage has no space left.'],
  EDQUOT: ['disk_full', 'cannot be written: the quota on the storage is used up.'],
  EFBIG: ['disk_full', 'cannot be written: the storage allows no file of this size.'],
  EMLINK: ['disk_full', 'cannot be made: the storage allows no more entries here.'],
  EROFS: ['storage_away', 'cannot be changed: the storage is mounted read-only.'],
  EIO: ['storage_away', 'cannot be read or written: the storage reports an error.'],
  ESTALE: ['storage_away', 'is not there any more: the storage was mounted anew. Try again.'],
  ENODEV: ['storage_away', 'cannot be reached: the storage is away.'],
  ENOTCONN: ['storage_away', 'cannot be reached: the storage is away.'],
  EHOSTDOWN: ['storage_away', 'cannot be reached: the storage is away.'],
  ETIMEDOUT: ['storage_away', 'cannot be reached: the storage does not answer.'],
}

/** Turns an error of the file system into one with a code; other errors stay. @param name of the file, as the user knows it */
export function toFileError(error: unknown, name: string): unknown {
  const known = KNOWN[errnoOf(error) ?? '']
  if (!known || error instanceof AppError) return error
  const [code, what] = known
  return new AppError(code, { name, why: `"${name}" ${what}` }, { cause: error })
}

/** Name of the system error, e.g. `ENOENT`, of an error or of its cause. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('syscall' in error && 'code' in error && typeof error.code === 'string') return error.code
  return error.cause === undefined ? undefined : errnoOf(error.cause)
}
