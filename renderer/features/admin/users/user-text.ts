import { type Role, type User } from '#manager/contract'
import { t } from '../../../words/en/admin-users.ts'

export const ROLES = ['user', 'domain_admin', 'superadmin'] as const satisfies readonly Role[]
export const roleText = (role: Role): string => t(`role_${role}`)

/** Whether the person can sign in, as a word with its tone. */
export function userState({ active, emailVerified }: Pick<User, 'active' | 'emailVerified'>) {
  if (!active) return { tone: 'neutral', label: t('inactive') } as const
  return emailVerified
    ? ({ tone: 'good', label: t('active') } as const)
    : ({ tone: 'warn', label: t('unconfirmed') } as const)
}

export const projectsText = ({ groups }: Pick<User, 'groups'>): string => groups.map(({ name }) => name).join(', ')
