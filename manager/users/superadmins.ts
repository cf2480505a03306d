import { AppError, because } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { countSuperadmins } from '../store/identity/users.ts'

/**
 * Checks after a change, in its transaction and under `lockSuperadmins`, that somebody is left who can administer
 * everything and signs in with a password, which works also while every sign-in provider is down. Of two superadmins who deactivate each other at the same time, only one succeeds.
 *
 * @throws AppError `last_superadmin`
 */
export async function requireSuperadmin(trx: Db): Promise<void> {
  if ((await countSuperadmins(trx)) > 0) return
  throw new AppError('last_superadmin', because('other_superadmin_first'))
}
