import { type GroupMapping, Role } from '#manager/contract'

const rank = (role: Role) => Role.options.indexOf(role)

export interface Wanted {
  /** Names or ids of projects. */
  readonly projects: readonly string[]
  /** The highest role of a matching group. */
  readonly role: Role | null
  /** A matching group gives a role of the provider's domain, in which the account is not. */
  readonly isElsewhere: boolean
}

/**
 * Projects and role that these groups of a provider give. Names of groups are compared exactly.
 *
 * @param isInDomain whether the account is in the domain of the provider: nobody becomes an administrator of another one, into which the
 *   account was moved or whose member has linked the provider
 */
export function wantedBy(mapping: readonly GroupMapping[], groups: readonly string[], isInDomain: boolean): Wanted {
  const held = new Set(groups)
  const matching = mapping.filter(({ group }) => held.has(group))
  const roles = matching.flatMap(({ role }) => role ?? [])
  const counting = roles.filter(role => isInDomain || role !== 'domain_admin')
  const [role = null] = counting.toSorted((a, b) => rank(b) - rank(a))
  const projects = [...new Set(matching.flatMap(({ projects }) => projects))]
  return { projects, role, isElsewhere: counting.length < roles.length }
}

export interface RoleState {
  /** The role of the account. */
  readonly role: Role
  /** The role that the mapping gave, and the role of the account before that. */
  readonly givenRole: Role | null
  readonly roleBefore: Role | null
}

/**
 * The mapping raises a role and takes back only what it gave. A role that an admin has set is the account's own and stays.
 */
export function nextRole({ role, givenRole, roleBefore }: RoleState, wanted: Role | null): RoleState {
  const own = givenRole !== null && role === givenRole ? (roleBefore ?? 'user') : role
  if (wanted === null || rank(wanted) <= rank(own)) return { role: own, givenRole: null, roleBefore: null }
  return { role: wanted, givenRole: wanted, roleBefore: own }
}

export interface MembershipChange<Id> {
  readonly add: readonly Id[]
  readonly remove: readonly Id[]
  /** Memberships that the mapping may take back later. */
  readonly given: readonly Id[]
}

/** As `nextRole` for memberships: one that was there before the mapping asked for it is never taken away. */
export function nextMemberships<Id>(state: {
  readonly current: readonly Id[]
  readonly given: readonly Id[]
  readonly wanted: readonly Id[]
}): MembershipChange<Id> {
  const { current, given, wanted } = state
  const add = wanted.filter(id => !current.includes(id))
  const remove = given.filter(id => !wanted.includes(id) && current.includes(id))
  const kept = given.filter(id => wanted.includes(id) && current.includes(id))
  return { add, remove, given: [...kept, ...add] }
}
