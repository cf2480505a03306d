import { type UserId } from '#manager/contract'
import { deleteEmailTokens } from '../store/identity/email-tokens.ts'
import { deleteLogins, deleteTickets } from '../store/identity/logins.ts'
import { type Db } from '../store/schema.ts'

/**
 * Ends every access to the account as it was: sign-ins, sign-in links, and links that were made for it. Runs in the
 * transaction that changes the account, so that no access outlives the change, whenever the process is killed.
 *
 * @param except a sign-in that stays
 * @returns the sign-ins that ended: `Logins.tellEnd` announces them once the transaction is committed
 */
export async function endAccess(trx: Db, userId: UserId, except?: string): Promise<string[]> {
  await deleteEmailTokens(trx, userId)
  await deleteTickets(trx, userId)
  return deleteLogins(trx, { userId, except })
}
