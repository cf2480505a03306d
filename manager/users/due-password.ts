import { AppError, because, isAppError } from '#manager/contract'
import { nextPasswordFrom } from './acting-for.ts'
import { afterCommitOf } from './after-commit.ts'
import { endAccess } from './end-access.ts'
import { type DoubtEnd, endDoubtByChoice } from './end-of-doubt.ts'
import { checkPassword } from './passwords.ts'
import { type AccountNotifier } from './account-notifier.ts'
import { type Db } from '../store/schema.ts'
import { lockUser, updateUser, type UserRow } from '../store/identity/users.ts'

/**
 * A password that an admin wants to be replaced lets nobody in: the sign-in itself has to bring the new one, so there is never a
 * sign-in that may do only one thing. Sign-ins by a link, a keypair or a provider do not use the password, and are not affected.
 */

/** @returns why the sign-in is refused; undefined if no change is due, or the new password is good */
export function duePasswordRefusal(
  user: Pick<UserRow, 'must_change_password'>,
  { password, newPassword }: { readonly password: string; readonly newPassword?: string | undefined },
): AppError | undefined {
  if (!user.must_change_password) return undefined
  if (newPassword === undefined) return new AppError('password_change_required', because('choose_new_password'))
  if (newPassword === password) return new AppError('password_unchanged', because('choose_other_password'))
  try {
    checkPassword(newPassword)
    return undefined
  } catch (error) {
    if (isAppError(error)) return error
    throw error
  }
}

/**
 * Locks the account of a sign-in with a due password; the new password replaces the old one, and every other access to the account
 * ends. In the transaction that makes the sign-in.
 *
 * @returns undefined where the password was changed meanwhile
 */
export async function replaceDuePassword(
  trx: Db,
  user: Pick<UserRow, 'id' | 'password_hash' | 'password_from'>,
  password_hash: string,
  notifier: Pick<AccountNotifier, 'write'>,
): Promise<DoubtEnd | undefined> {
  const held = await lockUser(trx, user.id)
  if (held?.password_hash !== user.password_hash) return undefined
  const password_from = nextPasswordFrom(held.password_from)
  const changed = await updateUser(trx, user.id, { password_hash, password_from, must_change_password: false })
  if (!changed) return undefined
  const end = await endDoubtByChoice(trx, notifier, held, changed)
  return { user: end.user, ...afterCommitOf(end, { ended: await endAccess(trx, held) }) }
}
