import { AppError, type FolderId } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { findFolder, type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { allows, permissionOf } from './access.ts'

/**
 * The folder, if the caller may write to it now: exactly what a session of the caller may do.
 *
 * @throws AppError `folder_not_found`, `forbidden`, `group_inactive`
 */
export async function requireWritable(db: Db, caller: Caller, id: FolderId): Promise<FolderRow> {
  const row = await findFolder(db, id, caller.userId)
  const permission = row && permissionOf(caller, row)
  if (!row || row.status !== 'ready' || permission === undefined) {
    throw new AppError('folder_not_found', { folderId: id })
  }
  if (row.group_active === false) {
    const why = `The project of the folder "${row.name}" is deactivated. Ask an admin to activate it.`
    throw new AppError('group_inactive', { name: row.group_name ?? '', why })
  }
  if (allows(permission, 'rw')) return row
  throw new AppError('forbidden', { folderId: id, why: `The folder "${row.name}" is read-only for you.` })
}
