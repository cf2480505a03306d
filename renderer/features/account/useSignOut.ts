import { useRouter } from 'vue-router'
import { clearErrors } from '../../ui/error-log.ts'
import { useAnnouncement } from '../announcement/useAnnouncement.ts'
import { forgetLaunch } from '../launch/forget-launch.ts'
import { useNotices } from '../notifications/useNotices.ts'
import { useResources } from '../sessions/useResources.ts'
import { useResourceGroup } from '../project/useResourceGroup.ts'
import { useSessions } from '../sessions/useSessions.ts'
import { useInvitations } from '../summary/useInvitations.ts'
import { useUsage } from '../usage/useUsage.ts'
import { useAccount } from './useAccount.ts'

/** Signs out, forgets everything that was loaded for the person and the choices of the last launch, and shows the sign-in page. */
export function useSignOut(): () => Promise<void> {
  const account = useAccount()
  const loaded = [useSessions(), useResources(), useUsage(), useResourceGroup(), useInvitations(), useAnnouncement()]
  const notices = useNotices()
  const router = useRouter()
  return async () => {
    forgetLaunch(account.user?.id)
    await account.signOut()
    for (const store of loaded) store.clear()
    notices.reset()
    clearErrors()
    await router.replace({ name: 'sign-in' })
  }
}
