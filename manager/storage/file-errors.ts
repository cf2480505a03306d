import { AppError, because, type CauseKey, causeIn, type ErrorCode } from '#manager/contract'

const KNOWN = {
  ENOENT: ['file_not_found', 'file_missing'],
  EEXIST: ['file_exists', 'file_there_choose'],
  ENOTEMPTY: ['directory_not_empty', 'directory_has_files'],
  ENOTDIR: ['file_kind_refused', 'file_not_directory'],
  ELOOP: ['file_kind_refused', 'file_is_link'],
  EISDIR: ['file_kind_refused', 'file_is_directory'],
  EINVAL: ['file_kind_refused', 'file_not_movable'],
  ENXIO: ['file_kind_refused', 'file_not_regular'],
  EACCES: ['forbidden', 'file_forbidden'],
  EPERM: ['forbidden', 'file_forbidden'],
  EBUSY: ['folder_in_use', 'file_in_use'],
  ENAMETOOLONG: ['path_invalid', 'file_name_too_long'],
  EILSEQ: ['path_invalid', 'file_name_refused'],
  ENOSPC: ['disk_full', 'storage_no_space'],
  EDQUOT: ['disk_full', 'storage_quota_full'],
  EFBIG: ['disk_full', 'file_too_large'],
  EMLINK: ['disk_full', 'storage_entries_full'],
  EROFS: ['storage_away', 'storage_read_only'],
  EIO: ['storage_away', 'file_error'],
  ESTALE: ['storage_away', 'file_remounted'],
  ENODEV: ['storage_away', 'file_storage_gone'],
  ENOTCONN: ['storage_away', 'file_storage_gone'],
  EHOSTDOWN: ['storage_away', 'file_storage_gone'],
  ETIMEDOUT: ['storage_away', 'file_storage_silent'],
} as const satisfies Readonly<Record<string, readonly [ErrorCode, CauseKey]>>

const isKnown = (errno: string | undefined): errno is keyof typeof KNOWN =>
  errno !== undefined && Object.hasOwn(KNOWN, errno)

/** Name in errors of calls on an open directory itself, whose name is unknown here. */
export const THE_DIRECTORY = 'The directory'

/** Turns an error of the file system into one with a code; returns other errors unchanged. @param name of the file, as the user knows it */
export function toFileError(error: unknown, name: string): unknown {
  const errno = errnoOf(error)
  if (!isKnown(errno) || error instanceof AppError) return error
  const [code, cause] = KNOWN[errno]
  return new AppError(code, { name, ...because(cause, { name }) }, { cause: error })
}

/** Replaces the name of a draft in an error by the name that the user knows. Returns other errors unchanged. */
export function renamedError(error: unknown, from: string, to: string): unknown {
  if (!(error instanceof AppError) || error.detail.name !== from) return error
  const { detail } = error
  const known = causeIn(detail)
  const told = known && 'values' in known ? because(known.cause as NamedCause, { ...known.values, name: to }) : {}
  return new AppError(error.code, { ...detail, ...told, name: to }, { cause: error.cause ?? error })
}

/** Causes whose text contains the name of a file. */
type NamedCause = (typeof KNOWN)[keyof typeof KNOWN][1]

/** Name of the system error, e.g. `ENOENT`, of an error or of its cause. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('syscall' in error && 'code' in error && typeof error.code === 'string') return error.code
  return error.cause === undefined ? undefined : errnoOf(error.cause)
}

/** Whether a system call on a file has failed; the database's errors have codes too. */
export function isOfFileSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'path' in error
}
