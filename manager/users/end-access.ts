import { deleteAllButMailedResets, deleteEmailTokens } from '../store/identity/email-tokens.ts'
import { deleteLogins, deleteTickets } from '../store/identity/logins.ts'
import { type UserRow } from '../store/identity/users.ts'
import { type Db } from '../store/schema.ts'
import { othersMayKnowPassword } from './acting-for.ts'

/**
 * Ends every access to the account as it was: sign-ins, sign-in links, and links that were made for it. Runs in the
 * transaction that changes the account, so that no access outlives the change, whenever the process is killed.
 *
 * Threat: while somebody else may know the password, a mailed link for another one is the person's way in, which ends the doubt. Whoever is
 * inside, or administers the account, would end each of them with one change after the other, and keep the person out. So in doubt these
 * links stay until they are used or expire; without a doubt, a person who changes the password because of a mail ends them (ADR 67).
 *
 * @param user the account as it was before the change, locked
 * @param except a sign-in that stays
 * @returns the sign-ins that ended: `Logins.tellEnd` announces them once the transaction is committed
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
