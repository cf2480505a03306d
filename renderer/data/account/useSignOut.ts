import { nextTick } from 'vue'
import { clearErrors } from '../../ui/error-log.ts'
import { forgetLaunch } from '../launch/forget-launch.ts'
import { useAccount } from './useAccount.ts'

/** Records in this browser's storage that speed up the first page, and that the next person must not see. */
const RECORDS = ['berth.announcement', 'berth.resource-groups']

/**
 * Signs out and loads the page again at the sign-in, so that no data of the person stays in memory. The person's records in this browser
 * are removed first.
 */
export function useSignOut(): () => Promise<void> {
  const account = useAccount()
  return async () => {
    forgetLaunch(account.user?.id)
    for (const record of RECORDS) globalThis.localStorage.removeItem(record)
    clearErrors()
    await account.signOut()
    // The person's uploads end with the sign-in, so the browser must not ask whether to leave them.
    await nextTick()
    globalThis.history.replaceState(null, '', '#/sign-in')
    globalThis.location.reload()
  }
}
