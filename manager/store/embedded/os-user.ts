import { type UserInfo, userInfo } from 'node:os'
import { AppError, because } from '#manager/contract'

/**
 * The user of this process. A container may run it under a user id that nobody has, and PostgreSQL asks the system for the name.
 *
 * @throws AppError `config_invalid` for a user id without an entry in the list of users
 */
export function osUser(): UserInfo<string> {
  try {
    return userInfo()
  } catch (error) {
    throw new AppError('config_invalid', because('no_user_entry', { uid: process.geteuid?.() ?? 0 }), { cause: error })
  }
}
