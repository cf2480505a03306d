import { type UserId } from '#manager/contract'
import { deactivateKeypairs } from '../store/identity/keypairs.ts'
import { type Db } from '../store/schema.ts'
import { newsOfRemains } from './set-by-keypair.ts'
import { type News } from './account-notifier.ts'

/**
 * Deactivates all keypairs of an account whose role or domain changes, or whose owner has just received it: previous managers or makers of
 * the account may know their secrets. The owner can activate them again. Runs in the transaction of the change, with the account locked.
 * @returns news of remaining things that were set with them, for `AccountNotifier.write`
 */
export async function endKeypairs(trx: Db, ownerId: UserId): Promise<News[]> {
  return newsOfRemains(trx, await deactivateKeypairs(trx, ownerId))
}
