import { AppError, because } from '#manager/contract'
import { type FolderSizes } from '../store/storage/folder-usage.ts'

/** The limits and the sizes that decide whether more may be written to a folder. */
export type Sizes = Pick<FolderSizes, 'name' | 'group_id' | 'max_bytes' | 'owner_max_bytes' | 'owned' | 'bytes'>
export type SizesWithUploads = Sizes & Pick<FolderSizes, 'staged' | 'owned_staged'>

/** Refuses a write of so many bytes that would exceed a limit; what was never measured counts as empty. */
export function sizeFault(sizes: Sizes, bytes: number): AppError | undefined {
  const { name, max_bytes, owner_max_bytes } = sizes
  const used = sizes.bytes ?? 0
  if (max_bytes !== null && used + bytes > max_bytes) {
    const figures = { name, limit: max_bytes, used, bytes }
    return new AppError('quota_folder_full', { ...figures, ...because('quota_folder_full', figures) })
  }
  const owned = sizes.owned ?? 0
  if (owner_max_bytes === null || owned + bytes <= owner_max_bytes) return undefined
  const figures = { name, limit: owner_max_bytes, used: owned, bytes }
  return new AppError('quota_total_full', {
    ...figures,
    ...because(sizes.group_id === null ? 'quota_total_full' : 'quota_project_full', figures),
  })
}

/**
 * Refuses an upload that is begun, if it does not fit beside all other uploads that are not finished.
 *
 * @param sizes its own bytes are among the staged ones already
 */
export function stagedFault(sizes: SizesWithUploads, bytes: number): AppError | undefined {
  const [others, ownedOthers] = [sizes.staged - bytes, sizes.owned_staged - bytes]
  const fault = sizeFault(
    { ...sizes, bytes: (sizes.bytes ?? 0) + others, owned: (sizes.owned ?? 0) + Math.max(0, ownedOthers) },
    bytes,
  )
  if (!fault) return undefined
  const isTotal = fault.code === 'quota_total_full'
  const staged = isTotal ? ownedOthers : others
  if (staged <= 0) return fault
  const { name, limit, used } = fault.detail as { name: string; limit: number; used: number }
  const figures = { name, limit, used, bytes, staged }
  const why = because(
    !isTotal ? 'quota_folder_staged' : sizes.group_id === null ? 'quota_total_staged' : 'quota_project_staged',
    figures,
  )
  return new AppError(fault.code, { ...figures, ...why })
}

export const isLimited = ({ max_bytes, owner_max_bytes }: Pick<Sizes, 'max_bytes' | 'owner_max_bytes'>): boolean =>
  max_bytes !== null || owner_max_bytes !== null

/** The limit that a file system is asked to enforce: no folder alone may have more than all together. */
export function enforceable({
  max_bytes,
  owner_max_bytes,
}: Pick<Sizes, 'max_bytes' | 'owner_max_bytes'>): number | null {
  if (max_bytes === null || owner_max_bytes === null) return max_bytes ?? owner_max_bytes
  return Math.min(max_bytes, owner_max_bytes)
}
