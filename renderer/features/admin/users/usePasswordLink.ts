import { computed, shallowRef } from 'vue'
import { type SentLink } from '#manager/contract'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { t } from '../../../words/en/admin-users.ts'

/** Creates a password link for a person: the page shows it to pass on, or says that it was mailed. */
export function usePasswordLink() {
  const notifications = useNotifications()
  const shown = shallowRef<{ readonly url: string; readonly expiresAt: string } | null>(null)
  const email = shallowRef('')
  function show({ url, expiresAt }: SentLink, to: string): void {
    email.value = to
    if (url === null) notifications.success(t('linkMailed', { email: to }))
    else shown.value = { url, expiresAt }
  }
  return {
    link: computed(() => shown.value),
    email: computed(() => email.value),
    show,
    close: () => (shown.value = null),
  }
}
