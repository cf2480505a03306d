import { type KernelMounts } from '#agent/contract'
import { because, type Because, causeIn, type FolderId, type KernelId } from '#manager/contract'
import { type SessionFolderRow } from '../store/sessions/session-folders.ts'

/** Changes in an agent's report about the folders of running kernels. */
export interface ChangedMounts {
  /** Kernels whose report from the agent differs from the previous one, or is the first. */
  readonly kernelIds: readonly KernelId[]
  /** Kernels of `kernelIds` that have folders. */
  readonly withFolders: readonly KernelId[]
  /** Kernels of `kernelIds` that gained or lost support for adding folders. */
  readonly turned: readonly KernelId[]
}

/** A step that makes records and mounts of one session equal again. */
export type Repair =
  /** Mounted: record the confirmation. */
  | { do: 'confirm'; folder: SessionFolderRow }
  /** Wanted, but missing in a kernel. */
  | { do: 'mount'; folder: SessionFolderRow }
  /** Unwanted, but still mounted. */
  | { do: 'unmount'; folder: SessionFolderRow }
  /** Unwanted, and removed from all kernels. */
  | { do: 'forget'; folder: SessionFolderRow }
  /** Mounted without a record, for example after a restore of the database: create one, because a record protects the folder. */
  | { do: 'record'; folder: KernelMounts['folders'][number] }

/**
 * Compares the folders that were added to a session with the agent's report of all its kernels. Pure. The records contain the wanted
 * folders; after a crash or a lost answer, the mounts may differ from them.
 */
export function repairsOf(rows: readonly SessionFolderRow[], kernels: readonly KernelMounts[]): Repair[] {
  const added = rows.filter(row => row.added)
  const isIn = ({ folders }: KernelMounts, id: FolderId) => folders.some(({ folder }) => folder === id)
  const repairs = added.flatMap((folder): Repair[] => {
    const [isEverywhere, isSomewhere] = [
      kernels.every(kernel => isIn(kernel, folder.folder_id)),
      kernels.some(kernel => isIn(kernel, folder.folder_id)),
    ]
    if (folder.pending === 'unmount') return [{ do: isSomewhere ? 'unmount' : 'forget', folder }]
    if (!isEverywhere) return [{ do: 'mount', folder }]
    return folder.pending === 'mount' ? [{ do: 'confirm', folder }] : []
  })
  const known = new Set(added.map(row => row.folder_id))
  const unknown = new Map(
    kernels.flatMap(({ folders }) => folders.filter(({ folder }) => !known.has(folder)).map(one => [one.folder, one])),
  )
  return [...repairs, ...Array.from(unknown.values(), (folder): Repair => ({ do: 'record', folder }))]
}

/** Why the folders of a running session cannot be changed now; undefined if they can. @param kernels the agent's report of each */
export function whyFixed(kernels: readonly (KernelMounts | undefined)[]): Because | undefined {
  for (const mounts of kernels) {
    if (!mounts) return because('folders_not_told')
    const { closed: why, closedBy } = mounts
    if (why !== null) return causeIn({ why, ...closedBy }) ?? because('docker_says', { text: why })
  }
  return kernels.length === 0 ? because('folders_not_told') : undefined
}
