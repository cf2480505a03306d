import { AppError, type FolderId, type FolderPermission } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { findFolder, type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { allows, permissionOf } from './access.ts'

/**
 * The folder, if the caller may do this with its files now: exactly what a session of the caller may do. An admin of a project
 * who is not in it manages its folders, but does not read their files.
 *
 * @throws AppError `folder_not_found`, `forbidden`, `group_inactive`
 */
export async function requireFolder(db: Db, caller: Caller, id: FolderId, need: FolderPermission): Promise<FolderRow> {
  const row = await findFolder(db, id, caller.userId)
  const permission = row && permissionOf(caller, row)
  if (!row || row.status === 'deleting' || permission === undefined) {
    throw new AppError('folder_not_found', { folderId: id })
  }
  requireUsable(row)
  requireAllowed(caller, row, need)
  return row
}

/** @param row read for the caller @throws AppError `forbidden` */
export function requireAllowed(caller: Pick<Caller, 'userId'>, row: FolderRow, need: FolderPermission): void {
  if (!allows(permissionOf(caller, row), need)) throw notAllowed(row.name, need)
}

function requireUsable({ name, status, group_active, group_name }: FolderRow): void {
  if (status === 'trashed') {
    const why = `The folder "${name}" is in the trash. Restore it first.`
    throw new AppError('folder_not_found', { name, why })
  }
  if (group_active === false) {
    const why = `The project of the folder "${name}" is deactivated. Ask an admin to activate it.`
    throw new AppError('group_inactive', { name: group_name ?? '', why })
  }
}

function notAllowed(name: string, need: FolderPermission): AppError {
  const what = need === 'delete' ? 'delete, replace or rename them' : 'change them'
  const why = `You may read the files of "${name}", but not ${what}. Ask the owner for the permission.`
  return new AppError('forbidden', { name, why })
}
