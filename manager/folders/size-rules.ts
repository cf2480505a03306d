import { AppError, because } from '#manager/contract'
import { sizeText } from '#base/size-text'
import { type FolderSizes } from '../store/storage/folder-usage.ts'

/** Size that a write adds to a folder; negative if it replaces more. Directories and links count as files. */
export interface Amount {
  readonly bytes: number
  readonly files: number
}

/** A write of this many bytes that creates this many files. */
export const amount = (bytes: number, files: number): Amount => ({ bytes, files })

export const NOTHING = amount(0, 0)

type Limits = 'max_bytes' | 'owner_max_bytes' | 'max_files' | 'owner_max_files'
/** The limits and sizes that decide whether more may be written to a folder. */
export type Sizes = Pick<FolderSizes, Limits | 'name' | 'group_id' | 'owned' | 'bytes' | 'owned_files' | 'files'>
export type SizesWithUploads = Sizes & Pick<FolderSizes, 'staged' | 'owned_staged'>

/** Refuses a write that would exceed a limit; sizes that were never measured count as 0. */
export function sizeFault(sizes: Sizes, { bytes, files }: Amount): AppError | undefined {
  // A write that needs no further space and creates nothing is allowed in a folder that has reached its limit, or is over it.
  if (bytes <= 0 && files <= 0) return undefined
  return bytesFault(sizes, bytes) ?? filesFault(sizes, files)
}

/** The sizes without the parts that are about to be replaced. */
export const without = <Some extends Sizes>(sizes: Some, { bytes, files }: Amount): Some => ({
  ...sizes,
  bytes: less(sizes.bytes, bytes),
  owned: less(sizes.owned, bytes),
  files: less(sizes.files, files),
  owned_files: less(sizes.owned_files, files),
})

const less = (size: number | null, freed: number) => (size === null ? null : Math.max(0, size - freed))

function bytesFault(sizes: Sizes, bytes: number): AppError | undefined {
  return bytes < 0 ? undefined : (folderFault(sizes, bytes) ?? totalFault(sizes, bytes))
}

function folderFault(sizes: Sizes, bytes: number): AppError | undefined {
  const { name, max_bytes } = sizes
  const used = sizes.bytes ?? 0
  if (max_bytes === null || used + bytes <= max_bytes) return undefined
  const figures = { name, limit: max_bytes, used, bytes }
  return new AppError('quota_folder_full', { ...figures, ...because('quota_folder_full', shown(figures)) })
}

function totalFault(sizes: Sizes, bytes: number): AppError | undefined {
  const { name, owner_max_bytes } = sizes
  const owned = sizes.owned ?? 0
  if (owner_max_bytes === null || owned + bytes <= owner_max_bytes) return undefined
  const figures = { name, limit: owner_max_bytes, used: owned, bytes }
  return new AppError('quota_total_full', {
    ...figures,
    ...because(sizes.group_id === null ? 'quota_total_full' : 'quota_project_full', shown(figures)),
  })
}

/** Formats the figures for a message. */
function shown<Figures extends Readonly<Record<string, number | string>>>(figures: Figures) {
  const texts = Object.entries(figures).map(([key, value]) => [
    key,
    typeof value === 'number' ? sizeText(value) : value,
  ])
  return Object.fromEntries(texts) as Record<keyof Figures, string>
}

/** A write that creates no file, such as one to an open file, is not refused because of the number of files. */
function filesFault(sizes: Sizes, files: number): AppError | undefined {
  if (files <= 0) return undefined
  const { name, max_files, owner_max_files } = sizes
  const used = sizes.files ?? 0
  if (max_files !== null && used + files > max_files) {
    const figures = { name, limit: max_files, used, files }
    return new AppError('quota_folder_files', { ...figures, ...because('quota_folder_files', figures) })
  }
  const owned = sizes.owned_files ?? 0
  if (owner_max_files === null || owned + files <= owner_max_files) return undefined
  const figures = { name, limit: owner_max_files, used: owned, files }
  return new AppError('quota_total_files', {
    ...figures,
    ...because(sizes.group_id === null ? 'quota_total_files' : 'quota_project_files', figures),
  })
}

/**
 * Refuses to begin an upload if its bytes do not fit beside all other unfinished uploads. The number of files is checked when the file is
 * put in its place.
 *
 * @param sizes its own bytes are among the staged ones already @param replaced bytes of the file that it replaces
 */
export function stagedFault(sizes: SizesWithUploads, size: number, replaced = 0): AppError | undefined {
  const bytes = size - replaced
  const [others, ownedOthers] = [sizes.staged - size, sizes.owned_staged - size]
  // A single upload that needs no further space is allowed. With several, each would count on the space of the same file.
  const isJudged = (staged: number) => bytes > 0 || staged > 0
  const beside = {
    ...sizes,
    bytes: (sizes.bytes ?? 0) + others,
    owned: (sizes.owned ?? 0) + Math.max(0, ownedOthers),
  }
  const fault =
    (isJudged(others) ? folderFault(beside, bytes) : undefined) ??
    (isJudged(ownedOthers) ? totalFault(beside, bytes) : undefined)
  if (!fault) return undefined
  const isTotal = fault.code === 'quota_total_full'
  const staged = isTotal ? ownedOthers : others
  if (staged <= 0) return fault
  const { name, limit, used } = fault.detail as { name: string; limit: number; used: number }
  const figures = { name, limit, used, bytes: Math.max(0, bytes), staged }
  const why = because(
    !isTotal ? 'quota_folder_staged' : sizes.group_id === null ? 'quota_total_staged' : 'quota_project_staged',
    shown(figures),
  )
  return new AppError(fault.code, { ...figures, ...why })
}

export const isLimited = (sizes: Pick<Sizes, Limits>): boolean =>
  [sizes.max_bytes, sizes.owner_max_bytes, sizes.max_files, sizes.owner_max_files].some(limit => limit !== null)

/** The limits for a file system to enforce: no single folder may have more than all together. */
export function enforceable(sizes: Pick<Sizes, Limits>): {
  readonly bytes: number | null
  readonly files: number | null
} {
  return {
    bytes: least(sizes.max_bytes, sizes.owner_max_bytes),
    files: least(sizes.max_files, sizes.owner_max_files),
  }
}

function least(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}
