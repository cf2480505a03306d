import { AppError, because, type SessionSpec, UserId } from '#manager/contract'
import { type Mount, resolveMounts, resolveMountsOfBoth } from '../folders/mounts.ts'
import { refuseDotFolder } from '../folders/require-folder.ts'
import { findUser, findUserByEmail } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { type Caller, managesAccount } from '../users/authorize.ts'

/**
 * The owner of the session that a request creates: the caller, or the user for whom an admin launches it. All rights and limits are those
 * of the owner; only the right to a priority above the usual one is the admin's. An account that the caller does not manage is refused
 * exactly like one that does not exist.
 *
 * @param wanted e-mail address or id
 * @throws AppError `forbidden`, `user_not_found`, `user_inactive`
 */
export async function requireOwner(db: Db, caller: Caller, wanted: string | undefined): Promise<Caller> {
  if (wanted === undefined) return caller
  const id = UserId.safeParse(wanted)
  const user = await (id.success ? findUser(db, id.data) : findUserByEmail(db, wanted))
  if (user?.id === caller.userId) return caller
  if (caller.role === 'user') throw new AppError('forbidden', because('only_admin_launches_for_others'))
  if (!user || !managesAccount(caller, user)) {
    throw new AppError('user_not_found', because('user_unknown_to_launch', { user: wanted }))
  }
  if (!user.active) {
    throw new AppError('user_not_found', because('owner_inactive', { email: user.email }))
  }
  const { id: userId, email, role, domain } = user
  return { userId, email, role, domain, loginId: null, keypair: null, scopes: null }
}

/**
 * The folders of a request. A session that an admin launches for another user mounts only folders that both may mount, with the rights that
 * both have, and mounts no folder automatically.
 *
 * Threat: the admin chooses the command of the session and can read its log. With the owner's folders the admin could read them, although
 * folders, like sessions, are not open to admins (`canEnter`).
 *
 * @throws AppError as `resolveMounts`
 */
export async function resolveMountsFor(
  db: Db,
  { caller, owner }: { caller: Caller; owner: Caller },
  spec: Pick<SessionSpec, 'folders' | 'automount'>,
): Promise<Mount[]> {
  if (owner.userId === caller.userId) {
    // Folders that are mounted by themselves are those whose names begin with a dot.
    const automount = caller.scopes === null ? spec.automount : false
    const mounts = await resolveMounts(db, caller, { ...spec, automount })
    for (const mount of mounts) refuseDotFolder(caller, mount)
    return mounts
  }
  return resolveMountsOfBoth(db, { caller, owner }, spec.folders ?? [])
}
