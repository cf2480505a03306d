import { type FileEntry, type Folder, type FolderPermission } from '#manager/contract'
import { shortId } from './find.ts'

/** The original writes `wd` for what includes deleting. */
export const tellPermission = (permission: FolderPermission): string => (permission === 'delete' ? 'wd' : permission)

export function readPermission(text: string): FolderPermission | undefined {
  if (text === 'ro' || text === 'rw') return text
  return text === 'wd' || text === 'delete' ? 'delete' : undefined
}

const STATES = { ready: 'ready', trashed: 'delete-pending', deleting: 'delete-ongoing' } as const

/** A folder, for REST and GraphQL of the original, which mostly use the same names. */
export function tellFolder(folder: Folder, callerId: string) {
  const kind = folder.group === null ? 'user' : 'group'
  return {
    id: shortId(folder.id),
    name: folder.name,
    host: folder.storageHost,
    quota_scope_id: folder.group === null ? `user:${folder.ownerId ?? ''}` : `project:${folder.group.id}`,
    usage_mode: folder.usageMode,
    created_at: folder.createdAt,
    last_used: null,
    is_owner: folder.ownerId === callerId,
    permission: tellPermission(folder.permission),
    user: folder.ownerId,
    group: folder.group?.id ?? null,
    creator: folder.owner?.email ?? null,
    user_email: folder.owner?.email ?? null,
    group_name: folder.group?.name ?? null,
    unmanaged_path: null,
    ownership_type: kind,
    type: kind,
    cloneable: true,
    status: STATES[folder.status],
    max_files: folder.fileLimit?.files ?? 0,
    max_size: folder.limit?.bytes ?? 0,
    numFiles: folder.usage?.files ?? 0,
    num_files: folder.usage?.files ?? 0,
    used_bytes: folder.usage?.bytes ?? 0,
    cur_size: folder.usage?.bytes ?? 0,
  }
}

/** Rights as `ls -l` writes them: Berth knows only whether a file may be run, and whether it is its owner's alone. */
export function modeText({
  kind,
  executable,
  ownerOnly,
}: Pick<FileEntry, 'kind' | 'executable' | 'ownerOnly'>): string {
  const type = { directory: 'd', link: 'l', file: '-', other: '-' }[kind]
  const isRunnable = executable || kind === 'directory'
  const own = isRunnable ? 'rwx' : 'rw-'
  const others = ownerOnly === true ? '---' : isRunnable ? 'r-x' : 'r--'
  return type + own + others + others
}

/** Files in the two forms that clients read: the older one is a text of JSON. */
export function tellFiles(entries: readonly FileEntry[]) {
  const types = { directory: 'DIRECTORY', link: 'SYMLINK', file: 'FILE', other: 'FILE' } as const
  const files = entries.map(entry => ({
    filename: entry.name,
    size: entry.size,
    mode: modeText(entry),
    mtime: Date.parse(entry.modifiedAt) / 1000,
    ctime: Date.parse(entry.modifiedAt) / 1000,
    atime: Date.parse(entry.modifiedAt) / 1000,
  }))
  const items = entries.map(entry => ({
    name: entry.name,
    type: types[entry.kind],
    size: entry.size,
    mode: modeText(entry),
    created: entry.modifiedAt,
    modified: entry.modifiedAt,
  }))
  return { files: JSON.stringify(files), items }
}
