import { AppError, because, type Folder, type FolderId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { findFolder, type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { manages, permissionOf } from './access.ts'

/** A folder's row, and the folder as the caller sees it. */
export interface SeenFolder {
  readonly row: FolderRow
  readonly view: Folder
}

/** @throws AppError `folder_not_found` if the caller may neither use nor manage it */
export async function requireVisible(db: Db, caller: Caller, id: FolderId): Promise<SeenFolder> {
  const row = await findFolder(db, id, caller.userId)
  const view = row && toFolder(caller, row)
  if (!row || !view || row.status === 'deleting') throw new AppError('folder_not_found', { folderId: id })
  return { row, view }
}

/** @throws AppError `folder_not_found`, `forbidden` */
export async function requireManaged(db: Db, caller: Caller, id: FolderId): Promise<FolderRow> {
  const { row } = await requireVisible(db, caller, id)
  if (manages(caller, row)) return row
  const why = row.group_id === null ? because('only_owner_changes') : because('only_admin_changes_project_folder')
  throw new AppError('forbidden', { folderId: id, ...why })
}

/** @returns undefined if the caller may neither use nor manage the folder */
export function toFolder(caller: Caller, row: FolderRow): Folder | undefined {
  const permission = permissionOf(caller, row)
  const manageable = manages(caller, row)
  if (permission === undefined && !manageable) return undefined
  return {
    id: row.id,
    name: row.name,
    storageHost: row.storage_host,
    ownerId: row.user_id,
    owner: row.user_id === null ? null : { email: row.owner_email ?? '', name: row.owner_name ?? '' },
    group: row.group_id === null ? null : { id: row.group_id, name: row.group_name ?? '' },
    usageMode: row.usage_mode,
    permission: permission ?? row.permission,
    usable: permission !== undefined,
    manageable,
    invited: row.invited_permission !== null,
    sharedWith: manageable ? row.shared_with : null,
    usage: toUsage(row),
    limit: toLimit(row),
    fileLimit: toFileLimit(row),
    cloning: row.is_cloning,
    status: row.status,
    trashedAt: row.trashed_at?.toISOString() ?? null,
    createdAt: row.created_at.toISOString(),
    version: row.version,
  }
}

function toLimit({ max_bytes, enforced_bytes }: FolderRow): Folder['limit'] {
  if (max_bytes === null) return null
  return { bytes: max_bytes, enforced: enforced_bytes !== null && enforced_bytes <= max_bytes }
}

function toFileLimit({ max_files, enforced_files }: FolderRow): Folder['fileLimit'] {
  if (max_files === null) return null
  return { files: max_files, enforced: enforced_files !== null && enforced_files <= max_files }
}

function toUsage({ usage_bytes: bytes, usage_files: files, measured_at }: FolderRow): Folder['usage'] {
  if (bytes === null || files === null || measured_at === null) return null
  return { bytes, files, measuredAt: measured_at.toISOString() }
}
