import { type AccountNewsKind } from '#manager/contract'
import { type UserRow } from '../store/identity/users.ts'
import { type Caller } from './authorize.ts'
import { type News } from './account-notifier.ts'

/** The kinds of messages about a change of an account. */
export interface AccountChange {
  readonly before: UserRow
  readonly after: UserRow
  /** Somebody else set another password. */
  readonly passwordSet: boolean
  /** The password was invalidated, because somebody else may know it. */
  readonly passwordEnded: boolean
  /** Accounts at providers were unlinked, because somebody else may have linked them. */
  readonly isUnlinked: boolean
  readonly projectsChanged: boolean
}

/** Messages to the person about a change of the account: one per changed thing. Pure. */
export function newsOf(by: Pick<Caller, 'userId' | 'email'>, change: AccountChange): News[] {
  const { before, after, passwordSet, passwordEnded, isUnlinked, projectsChanged } = change
  const isOther = (keys: readonly (keyof UserRow)[]) => keys.some(key => before[key] !== after[key])
  const kinds: (readonly [AccountNewsKind, boolean, string?])[] = [
    ['password_set', passwordSet],
    ['role_changed', before.role !== after.role, after.role],
    ['domain_changed', before.domain !== after.domain, after.domain],
    ['password_ended', passwordEnded],
    ['identities_unlinked', isUnlinked],
    ['account_deactivated', before.active && !after.active],
    ['account_activated', !before.active && after.active],
    ['projects_changed', projectsChanged && before.domain === after.domain],
    ['account_changed', isOther(['name', 'description', 'resource_policy'])],
  ]
  return kinds.flatMap(([kind, isTrue, detail = '']) => (isTrue ? [{ userId: after.id, by, kind, detail }] : []))
}
