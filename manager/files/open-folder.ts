import { AppError, type FolderId, type FolderPermission } from '#manager/contract'
import { allows, permissionOf } from '../folders/access.ts'
import { type Directory } from '../storage/beneath.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Db } from '../store/schema.ts'
import { findFolder, type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'

/** A folder whose files a caller may reach, with its open top. Disposing closes the top. */
export interface OpenFolder extends AsyncDisposable {
  readonly row: FolderRow
  readonly top: Directory
}

/** Opens folders for callers who have the permission that an operation needs. */
export type FolderOpener = (caller: Caller, id: FolderId, need: FolderPermission) => Promise<OpenFolder>

/**
 * The files of a folder are for the users whose sessions may mount it, with the same permission. An admin of a project who is
 * not in it manages its folders, but does not read their files.
 */
export function createFolderOpener({ db, storage }: { db: Db; storage: StorageHosts }): FolderOpener {
  /** @throws AppError `folder_not_found`, `forbidden`, `group_inactive`, `storage_away`, `storage_host_not_found` */
  return async (caller, id, need) => {
    const row = await findFolder(db, id, caller.userId)
    const permission = row && permissionOf(caller, row)
    if (!row || row.status === 'deleting' || permission === undefined) {
      throw new AppError('folder_not_found', { folderId: id })
    }
    requireUsable(row)
    if (!allows(permission, need)) throw notAllowed(row.name, need)
    const top = await storage.open(row.storage_host, id)
    return { row, top, [Symbol.asyncDispose]: () => top[Symbol.asyncDispose]() }
  }
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
