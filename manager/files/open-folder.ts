import { AppError, because, type FolderId, type FolderPermission } from '#manager/contract'
import { requireFolder } from '../folders/require-folder.ts'
import { type Directory } from '../storage/beneath.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Db } from '../store/schema.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'

/** A folder whose files a caller may reach, with its open top. Disposing closes the top. */
export interface OpenFolder extends AsyncDisposable {
  readonly row: FolderRow
  readonly top: Directory
}

/** Opens folders for callers who have the permission that an operation needs. */
export type FolderOpener = (caller: Caller, id: FolderId, need: FolderPermission) => Promise<OpenFolder>

export function createFolderOpener({ db, storage }: { db: Db; storage: StorageHosts }): FolderOpener {
  /** @throws AppError `folder_not_found`, `forbidden`, `group_inactive`, `storage_away`, `storage_host_not_found` */
  return async (caller, id, need) => {
    const row = await requireFolder(db, caller, id, need)
    const top = await storage.open(row.storage_host, id)
    return { row, top, [Symbol.asyncDispose]: () => top[Symbol.asyncDispose]() }
  }
}

/** Checks again what `open` has checked. @throws AppError as the opener */
export async function requireStill(
  open: FolderOpener,
  caller: Caller,
  [id, need]: readonly [FolderId, FolderPermission],
): Promise<void> {
  await using _folder = await open(caller, id, need)
}

/** For what needs all files of a folder. @throws AppError `folder_incomplete` while a clone is being filled */
export function requireFilled({ row: { name, is_cloning } }: OpenFolder): void {
  if (is_cloning) throw new AppError('folder_incomplete', { name, ...because('folder_filling', { name }) })
}
