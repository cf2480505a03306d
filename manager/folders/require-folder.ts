import { AppError, because, type FolderId, type FolderPermission, isAutomount } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { findFolder, type FolderRow } from '../store/storage/folders.ts'
import { type Caller } from '../users/authorize.ts'
import { requireStillSignedIn } from '../users/still-authorized.ts'
import { allows, permissionOf } from './access.ts'

/**
 * Returns the folder if the caller may do this with its files now: the same rights as a session of the caller has. An admin of a project
 * who is not a member manages its folders, but cannot read their files. @throws AppError `folder_not_found`, `forbidden`, `group_inactive`
 */
export async function requireFolder(db: Db, caller: Caller, id: FolderId, need: FolderPermission): Promise<FolderRow> {
  const row = await findFolder(db, id, caller.userId)
  const permission = row && permissionOf(caller, row)
  if (!row || row.status === 'deleting' || permission === undefined) {
    throw new AppError('folder_not_found', { folderId: id })
  }
  requireUsable(row)
  requireAllowed(caller, row, need)
  refuseDotFolder(caller, row)
  return row
}

/**
 * Like `requireFolder`, for a long request: also checks that its sign-in or keypair, its account and the right to the folder still hold.
 * @throws AppError `not_signed_in`, and as `requireFolder`
 */
export async function requireFolderStill(
  db: Db,
  caller: Caller,
  id: FolderId,
  need: FolderPermission,
): Promise<FolderRow> {
  await requireStillSignedIn(db, caller)
  return requireFolder(db, caller, id, need)
}

/**
 * Refuses an access token a folder that is mounted in each session of its owner: what is written there runs in sessions that are not the
 * token's, and what is read there are settings of programs.
 *
 * @throws AppError `forbidden`
 */
export function refuseDotFolder({ scopes }: Pick<Caller, 'scopes'>, { name }: { readonly name: string }): void {
  if (scopes !== null && isAutomount(name))
    throw new AppError('forbidden', { name, ...because('no_dot_folder_by_token') })
}

/** @param row read for the caller @throws AppError `forbidden` */
export function requireAllowed(caller: Pick<Caller, 'userId'>, row: FolderRow, need: FolderPermission): void {
  if (!allows(permissionOf(caller, row), need)) throw notAllowed(row.name, need)
}

function requireUsable({ name, status, group_active, group_name }: FolderRow): void {
  if (status === 'trashed') {
    throw new AppError('folder_not_found', { name, ...because('folder_trashed_restore', { name }) })
  }
  if (group_active === false) {
    throw new AppError('group_inactive', {
      name: group_name ?? '',
      ...because('folder_project_deactivated', { name }),
    })
  }
}

function notAllowed(name: string, need: FolderPermission): AppError {
  const cause = need === 'delete' ? 'may_not_delete' : 'may_not_change'
  return new AppError('forbidden', { name, ...because(cause, { name }) })
}
