import { type FolderRow } from '../store/storage/folders.ts'
import { administers, type Caller } from '../users/authorize.ts'

type Identity = Pick<Caller, 'userId' | 'role' | 'domain'>
type Owned = Pick<FolderRow, 'user_id' | 'group_domain' | 'is_member'>

/** May the caller rename and delete the folder: its owner, or an admin where a project owns it? */
export function manages(caller: Identity, { user_id, group_domain }: Owned): boolean {
  if (user_id !== null) return user_id === caller.userId
  return group_domain !== null && administers(caller, group_domain)
}

/** May sessions of the caller mount the folder? An admin mounts the folders of those projects only that they are in. */
export function mayMount(caller: Identity, { user_id, is_member }: Owned): boolean {
  return user_id === null ? is_member : user_id === caller.userId
}
