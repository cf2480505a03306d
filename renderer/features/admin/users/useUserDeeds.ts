import { type User } from '#manager/contract'
import { useServices } from '../../../services.ts'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { useAsked } from '../useAsked.ts'
import { t } from './words.ts'

/** Activating and deactivating an account, with the question before the latter. */
export function useUserDeeds(done: () => Promise<void>) {
  const { api } = useServices()
  const notifications = useNotifications()
  const { asked, asking, ask: askDeactivation } = useAsked<User>()

  async function activate({ id, email }: User): Promise<void> {
    try {
      await api.updateUser({ params: { id }, body: { active: true } })
      notifications.success(t('activated', { email }))
      await done()
    } catch (error) {
      notifications.error(error)
    }
  }
  async function deactivate(): Promise<void> {
    const user = asked.value
    if (!user) return
    await api.updateUser({ params: { id: user.id }, body: { active: false } })
    notifications.success(t('deactivated', { email: user.email }), {
      label: t('activate'),
      run: () => void activate(user),
    })
    await done()
  }
  return { asked, asking, activate, askDeactivation, deactivate }
}
