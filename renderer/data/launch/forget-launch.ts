import { type UserId } from '#manager/contract'

/** Name of the record in the storage of this browser; each account has its own. */
export const keyOf = (user: UserId | undefined) => `berth.launch.${user ?? ''}`

/**
 * Removes the choices of the last launch from this browser: the next person must not see names of folders and commands. The sign-out uses
 * this, so it is a separate file, which is loaded at the start.
 */
export function forgetLaunch(user: UserId | undefined, storage: Storage = localStorage): void {
  storage.removeItem(keyOf(user))
  // Earlier versions kept one record for all accounts.
  storage.removeItem('berth.launch')
}
