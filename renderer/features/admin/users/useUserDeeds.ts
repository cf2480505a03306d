import { type User } from '#manager/contract'
import { useServices } from '../../../services.ts'
import { useNotifications } from '../../../ui/useNotifications.ts'
import { useAccount } from '../../../data/account/useAccount.ts'
import { useAskedRow } from '../useAskedRow.ts'
import { type RowSource } from '../useRowOf.ts'
import { t } from '../../../words/en/admin-users.ts'

/**
 * Activating and deactivating an account, with the question before the latter, which is part of the URL.
 *
 * @param users those of the page
 */
export function useUserDeeds({ rows, find }: Pick<RowSource<User>, 'rows' | 'find'>, done: () => Promise<void>) {
  const { api } = useServices()
  const notifications = useNotifications()
  const account = useAccount()
  const {
    asked,
    asking,
    ask: askDeactivation,
  } = useAskedRow<User>('deactivate', {
    keyOf: ({ id }) => id,
    rows,
    find,
    fits: ({ id, active }) => active && id !== account.user?.id,
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
  async function deactivate(user: User): Promise<void> {
    await api.updateUser({ params: { id: user.id }, body: { active: false } })
    notifications.success(t('deactivated', { email: user.email }), {
      label: t('activate'),
      run: () => void activate(user),
    })
    await done()
  }
  return { asked, asking, activate, askDeactivation, deactivate }
}
