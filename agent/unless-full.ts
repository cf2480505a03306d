import { AppError, because } from '#manager/contract'

const FULL = { ENOSPC: 'disk_of_path_full', EDQUOT: 'disk_of_path_quota' } as const
const isFull = (code: string): code is keyof typeof FULL => Object.hasOwn(FULL, code)

/**
 * Converts a full disk to one of our errors, whatever the free space is: inodes, quotas and reserved blocks can run out even above the
 * floor.
 */
export function unlessFull(error: unknown, path: string): unknown {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return error
  const { code } = error
  return isFull(code) ? new AppError('disk_full', because(FULL[code], { path, code }), { cause: error }) : error
}
