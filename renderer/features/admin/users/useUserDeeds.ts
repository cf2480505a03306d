import { type User } from '#manager/contract'
import { useServices } from '../../../services.ts'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { useAccount } from '../../account/useAccount.ts'
import { useAskedRow } from '../useAskedRow.ts'
import { t } from './words.ts'

/**
 * Activating and deactivating an account, with the question before the latter, which is part of the URL.
 *
 * @param users those of the page; null until they are loaded
 */
export function useUserDeeds(users: () => readonly User[] | null, done: () => Promise<void>) {
  const { api } = useServices()
  const notifications = useNotifications()
  const account = useAccount()
  const {
    asked,
    asking,
    ask: askDeactivation,
  } = useAskedRow<User>('deactivate', {
    keyOf: ({ id }) => id,
    rows: () => users()?.filter(({ id, active }) => active && id !== account.user?.id) ?? null,
  })

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
