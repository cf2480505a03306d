import { type FolderPermission } from '#manager/contract'
import { type FolderRow } from '../store/storage/folders.ts'
import { administers, type Caller } from '../users/authorize.ts'

type Identity = Pick<Caller, 'userId' | 'role' | 'domain'>
type Owned = Pick<FolderRow, 'user_id' | 'group_domain' | 'permission'>

/** May the caller rename and delete the folder: its owner, or an admin where a project owns it? */
export function manages(caller: Identity, { user_id, group_domain }: Owned): boolean {
  if (user_id !== null) return user_id === caller.userId
  return group_domain !== null && administers(caller, group_domain)
}

/**
 * What sessions of the caller may do in the folder; undefined: nothing, the caller does not see it. An admin manages the
 * folders of a project, and sees no files of a project that they are not in.
 */
export function permissionOf(caller: Identity, folder: Owned, isMember: boolean): FolderPermission | undefined {
  if (folder.user_id !== null) return folder.user_id === caller.userId ? 'rw' : undefined
  return isMember ? folder.permission : undefined
}
