import { Role } from '#manager/contract'

/** Rights that the mapping of groups gave an account through one account at a provider: columns of its row. */
export interface Given<Id = string> {
  readonly given_groups: readonly Id[]
  readonly given_role: Role | null
  /** The account's own role before the mapping. */
  readonly role_before: Role | null
  /** Perhaps linked by somebody else: it gives no role, even if its row contains one. */
  readonly doubtful: boolean
}

const rank = (role: Role) => Role.options.indexOf(role)
const highest = (roles: readonly Role[]) => roles.toSorted((a, b) => rank(b) - rank(a))[0]

/** The highest of these roles; null if there is none. */
export const highestOf = (roles: readonly Role[]): Role | null => highest(roles) ?? null

/** The role that an account has without any mapping. */
export function ownRole(role: Role, given: readonly Given[]): Role {
  const left = [...given]
  for (let own = role; ;) {
    const at = left.findIndex(one => one.given_role === own)
    if (at === -1) return own
    own = left.splice(at, 1)[0]?.role_before ?? 'user'
  }
}

export interface RoleState {
  /** The role of the account. */
  readonly role: Role
  /** The role that the mapping gave, and the role of the account without any mapping. */
  readonly givenRole: Role | null
  readonly roleBefore: Role | null
}

/**
 * Calculates the next role. The mapping may raise a role, and takes back only a role that it gave. A role that an administrator has set
 * stays, and so does a role from another linked account that is not doubtful.
 *
 * @param mine rights that the account at the provider gave before
 * @param others rights that the other linked accounts give
 */
export function nextRole(
  state: { readonly role: Role; readonly mine: Given; readonly others: readonly Given[] },
  wanted: Role | null,
): RoleState {
  const { role, mine, others } = state
  const own = ownRole(role, [mine, ...others])
  const given = wanted !== null && rank(wanted) > rank(own) ? [wanted] : []
  const kept = others.filter(one => !one.doubtful).flatMap(one => one.given_role ?? [])
  const next = highest([own, ...given, ...kept]) ?? own
  const [givenRole = null] = given
  return { role: next, givenRole, roleBefore: givenRole === null ? null : own }
}

export interface MembershipChange<Id> {
  readonly add: readonly Id[]
  readonly remove: readonly Id[]
  /** Memberships that the mapping may take back later. */
  readonly given: readonly Id[]
}

/** Like `nextRole`, for memberships: a membership that existed before a mapping gave it is never taken away. */
export function nextMemberships<Id>(state: {
  readonly current: readonly Id[]
  readonly mine: readonly Id[]
  readonly others: readonly Id[]
  readonly wanted: readonly Id[]
}): MembershipChange<Id> {
  const { current, mine, others, wanted } = state
  const own = current.filter(id => !mine.includes(id) && !others.includes(id))
  const add = wanted.filter(id => !current.includes(id))
  const remove = mine.filter(id => current.includes(id) && !wanted.includes(id) && !others.includes(id))
  return { add, remove, given: wanted.filter(id => !own.includes(id)) }
}
