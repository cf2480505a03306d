import { AppError, because, type FolderId, type FolderPermission } from '#manager/contract'
import { requireFolder, requireFolderStill } from '../folders/require-folder.ts'
import { type Directory } from '../storage/beneath.ts'
import { type StorageHosts } from '../storage/storage-hosts.ts'
import { type Db } from '../store/schema.ts'
import { type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { type LongRequests } from '../users/long-requests.ts'

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
    const top = await storage.open(row.storage_host, id, caller.userId)
    return { row, top, [Symbol.asyncDispose]: () => top[Symbol.asyncDispose]() }
  }
}

/** Checks that a caller of a long request still has the right, and watches it. */
export interface FolderRights {
  /** @throws AppError `not_signed_in`, and as the opener */
  require(caller: Caller, id: FolderId, need: FolderPermission): Promise<void>
  /** @param cut called once with the error of `require`, when the right ends */
  watch(caller: Caller, id: FolderId, need: FolderPermission, cut: (refusal: Error) => void): Disposable
}

export function createFolderRights({ db, longRequests }: { db: Db; longRequests: LongRequests }): FolderRights {
  const require = async (caller: Caller, id: FolderId, need: FolderPermission) => {
    await requireFolderStill(db, caller, id, need)
  }
  return {
    require,
    watch: (caller, id, need, cut) => longRequests.watch(caller, () => require(caller, id, need), cut),
  }
}

/** For operations that need all files of a folder. @throws AppError `folder_incomplete` while a clone is being filled */
export function requireFilled({ row: { name, is_cloning } }: OpenFolder): void {
  if (is_cloning) throw new AppError('folder_incomplete', { name, ...because('folder_filling', { name }) })
}
