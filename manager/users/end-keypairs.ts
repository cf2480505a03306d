import { type UserId } from '#manager/contract'
import { deactivateKeypairs } from '../store/identity/keypairs.ts'
import { type Db } from '../store/schema.ts'
import { newsOfRemains } from './set-by-keypair.ts'
import { type News } from './account-notifier.ts'

/**
 * Deactivates all keypairs of an account whose role or domain changes, or whose owner has just come: whoever managed or made it so far
 * may know their secrets. Their owner activates them again.
 *
 * Runs in the transaction of the change, with the account locked.
 *
 * @returns news of what was set with them and stays, for `AccountNotifier.write`
 */
export async function endKeypairs(trx: Db, ownerId: UserId): Promise<News[]> {
  return newsOfRemains(trx, await deactivateKeypairs(trx, ownerId))
}
