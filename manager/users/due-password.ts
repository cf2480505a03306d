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
 * When an admin requires a new password, the old one does not sign in: the sign-in itself must contain the new one, so that no restricted
 * sign-ins are needed. Sign-ins by a link, a keypair or a provider do not use the password, and are not affected.
 */

/** @returns why the sign-in is refused; undefined if no change is due, or the new password is acceptable */
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
 * Replaces the due password of an account with the new one, and ends all other access to the account. Call it in the transaction that
 * creates the sign-in. @returns undefined if the password was changed meanwhile
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
