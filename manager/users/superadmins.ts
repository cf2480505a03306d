import { AppError, because } from '#manager/contract'
import { type Db } from '../store/schema.ts'
import { countSuperadmins } from '../store/identity/users.ts'

/**
 * Checks after a change, in its transaction and under `lockSuperadmins`, that there is still a superadmin who can sign in with a password,
 * which also works while every sign-in provider is down. Of two superadmins who deactivate each other at the same time, only one succeeds.
 *
 * @throws AppError `last_superadmin`
 */
export async function requireSuperadmin(trx: Db): Promise<void> {
  if ((await countSuperadmins(trx)) > 0) return
  throw new AppError('last_superadmin', because('other_superadmin_first'))
}
