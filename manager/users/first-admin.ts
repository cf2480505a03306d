import { chmod, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, because, DEFAULT_DOMAIN, isAppError, type UserId } from '#manager/contract'
import { type Log } from '../log.ts'
import { countUsers, findUserByEmail } from '../store/identity/users.ts'
import { type Store } from '../store/open-store.ts'
import { insertAccount } from './accounts.ts'
import { checkPassword, type Passwords } from './passwords.ts'
import { newPassword } from './secrets.ts'

const FIRST_ADMIN = 'admin@localhost'

/**
 * Creates `admin@localhost` at the first start, with the given password or a random one that is written to DATA/admin-password.
 *
 * @param password of BERTH_ADMIN_PASSWORD; a password that breaks the rules stops every start, so that nobody believes it is set
 * @throws AppError `weak_password`
 */
export async function ensureFirstAdmin(options: {
  store: Store
  passwords: Passwords
  dataDir: string
  password: string | undefined
  log: Log
}): Promise<void> {
  const { store, passwords, dataDir, password, log } = options
  if (password !== undefined) checkPassword(password)
  if ((await countUsers(store.db)) > 0) return
  const chosen = password ?? newPassword()
  const password_hash = await passwords.hash(chosen, ['people'])
  // Write the file first: a crash in between then leaves an unnecessary file, not an account that nobody can use.
  if (password === undefined) await writeSecret(join(dataDir, 'admin-password'), `${chosen}\n`)
  const admin = { email: FIRST_ADMIN, name: 'Administrator', role: 'superadmin' as const, password_hash }
  try {
    await store.transaction(trx => insertAccount(trx, { ...admin, domain: DEFAULT_DOMAIN }))
    log.info({ email: FIRST_ADMIN }, 'created the first superadmin')
  } catch (error) {
    // Another manager on this database was first.
    if (!isAppError(error) || error.code !== 'user_exists') throw error
  }
}

/**
 * The superadmin for whom sign-in links of this machine are made. @throws AppError `user_not_found` if the account was deactivated or
 * removed, or is not a superadmin any more
 */
export async function firstAdminId(store: Store): Promise<UserId> {
  const user = await findUserByEmail(store.db, FIRST_ADMIN)
  if (!user?.active || user.role !== 'superadmin')
    throw new AppError('user_not_found', because('no_first_admin', { email: FIRST_ADMIN }))
  return user.id
}

async function writeSecret(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await chmod(`${path}.new`, 0o600)
  await rename(`${path}.new`, path)
}
