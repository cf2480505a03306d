import { FolderPermission } from '#manager/contract'
import { type FolderRow } from '../store/storage/folders.ts'
import { administers, type Caller } from '../users/authorize.ts'

type Identity = Pick<Caller, 'userId' | 'role' | 'domain'>
type Owned = Pick<FolderRow, 'user_id' | 'group_domain' | 'permission' | 'is_member' | 'invited_permission'>

/** Whether the caller may rename, share and delete the folder: as its owner, or as an admin if a project owns it. */
export function manages(caller: Identity, { user_id, group_domain }: Pick<Owned, 'user_id' | 'group_domain'>): boolean {
  if (user_id !== null) return user_id === caller.userId
  return group_domain !== null && administers(caller, group_domain)
}

/**
 * Permission of the caller for the files of a folder, in sessions and outside of them: the owner may do everything, a member of its project
 * what the project permits, and an invited user what the accepted invitation gives; if both apply, the greater one. An admin may access
 * files only of projects of which they are a member.
 *
 * @param row read for the caller @returns undefined if the caller may not even read it
 */
export function permissionOf(
  caller: Pick<Identity, 'userId'>,
  row: Omit<Owned, 'group_domain'>,
): FolderPermission | undefined {
  if (row.user_id === caller.userId) return 'delete'
  const given = [row.user_id === null && row.is_member ? row.permission : null, row.invited_permission]
  return FolderPermission.options.findLast(permission => given.includes(permission))
}

/** Whether a permission includes another one: each includes the ones before it. */
export function allows(permission: FolderPermission | undefined, needed: FolderPermission): boolean {
  if (permission === undefined) return false
  return FolderPermission.options.indexOf(permission) >= FolderPermission.options.indexOf(needed)
}
