import { nextTick } from 'vue'
import { clearErrors } from '../../ui/error-log.ts'
import { forgetLaunch } from '../launch/forget-launch.ts'
import { useAccount } from './useAccount.ts'

/** Records in the storage of this browser that show the first page sooner, and are not for the next person at it. */
const RECORDS = ['berth.announcement', 'berth.resource-groups']

/**
 * Signs out and loads the page again at the sign-in, so that nothing of the person stays in its memory. Records of the person in
 * this browser are removed before.
 */
export function useSignOut(): () => Promise<void> {
  const account = useAccount()
  return async () => {
    forgetLaunch(account.user?.id)
    for (const record of RECORDS) globalThis.localStorage.removeItem(record)
    clearErrors()
    await account.signOut()
    // Uploads of the person end with their sign-in: the browser does not ask whether to leave them.
    await nextTick()
    globalThis.history.replaceState(null, '', '#/sign-in')
    globalThis.location.reload()
  }
}
