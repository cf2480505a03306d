import { type UserId } from '#manager/contract'

/** Name of the record in the storage of this browser; each account has its own. */
export const keyOf = (user: UserId | undefined) => `berth.launch.${user ?? ''}`

/**
 * Removes the choices of the last launch from this browser: names of folders and commands are not for the next person at it. The
 * sign-out calls it, so it is a file of its own, which is loaded at the start.
 */
export function forgetLaunch(user: UserId | undefined, storage: Storage = localStorage): void {
  storage.removeItem(keyOf(user))
  // Earlier versions kept one record for all accounts.
  storage.removeItem('berth.launch')
}
