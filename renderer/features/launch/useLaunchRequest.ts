import { ref, type Ref, watch } from 'vue'
import { type SessionSpec } from '#manager/contract'
import { messageText } from '../../ui/cause-text.ts'
import { errorText, type ErrorText } from '../../ui/error-text.ts'
import { useNotifications } from '../../ui/useNotifications.ts'
import { useAccount } from '../../data/account/useAccount.ts'
import { useSessions } from '../../data/sessions/useSessions.ts'
import { type LaunchErrors, type LaunchForm } from './launch-form.ts'
import { refusedFields } from './refused-fields.ts'
import { remember } from './remembered.ts'
import { useOpenAfter } from './useOpenAfter.ts'

/** Sends the request of the form, and keeps the manager's refusals until the form is edited. */
export function useLaunchRequest(form: Readonly<Ref<LaunchForm>>) {
  const account = useAccount()
  const notifications = useNotifications()
  const sessions = useSessions()
  const openAfter = useOpenAfter()
  const busy = ref(false)
  const failure = ref<ErrorText | null>(null)
  const refused = ref<LaunchErrors>({})

  // An edit clears the manager's refusals, because the new values have not been tried.
  watch(
    form,
    () => {
      if (Object.keys(refused.value).length > 0) refused.value = {}
    },
    { deep: true },
  )

  /** @param app name of the app to open when the session runs; empty for none @returns true once the sessions exist */
  async function send(spec: SessionSpec, app: string): Promise<boolean> {
    if (busy.value) return false
    busy.value = true
    failure.value = null
    try {
      const { items, notices } = await sessions.launch(spec)
      openAfter(items, app)
      if (form.value.owner === '') remember(account.user?.id, form.value)
      for (const notice of notices) notifications.info(messageText(notice))
      return true
    } catch (error) {
      refused.value = refusedFields(error)
      if (Object.keys(refused.value).length === 0) failure.value = errorText(error)
      return false
    } finally {
      busy.value = false
    }
  }

  return { busy, failure, refused, send }
}
