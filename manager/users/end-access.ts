import { deleteAllButMailedResets, deleteEmailTokens } from '../store/identity/email-tokens.ts'
import { deleteLogins, deleteTickets } from '../store/identity/logins.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { othersMayKnowPassword } from './acting-for.ts'

/**
 * Ends all existing access to the account: sign-ins, sign-in links, and links created for it. Runs in the transaction that changes the
 * account, so that no access outlives the change, even if the process is killed.
 *
 * Threat: while somebody else may know the password, a mailed link for a new one is the person's way to regain the account. Whoever else
 * has access, or administers the account, could delete each such link with repeated changes, and keep the person out. So during this time
 * these links stay until they are used or expire; otherwise a change of the password deletes them (ADR 67).
 *
 * @param user the account as it was before the change, locked
 * @param except a sign-in to keep
 * @returns the sign-ins that ended: `Logins.tellEnd` announces them after the commit
 */
export async function endAccess(
  trx: Db,
  user: Pick<UserRow, 'id' | 'password_set' | 'password_from'>,
  except?: string,
): Promise<string[]> {
  const { id: userId } = user
  await (othersMayKnowPassword(user) ? deleteAllButMailedResets : deleteEmailTokens)(trx, userId)
  await deleteTickets(trx, userId)
  return deleteLogins(trx, { userId, except })
}
