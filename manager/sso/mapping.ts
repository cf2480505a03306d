import { type GroupMapping, type Role, type SignInProviderSettings } from '#manager/contract'
import { highestOf } from '../users/mapped-rights.ts'

/**
 * Whether the mapping of a provider applies to accounts of a domain: only to those of its own domain. The same project name means another
 * project in another domain, whose administrators choose it; an account can be there after a move, or because a member of that domain has
 * linked the provider. People of other domains can sign in all the same.
 */
export function servesDomain(provider: Pick<SignInProviderSettings, 'domain'>, domain: string): boolean {
  return provider.domain === domain
}

export interface Wanted {
  /** Names or ids of projects. */
  readonly projects: readonly string[]
  /** The highest role of a matching group. */
  readonly role: Role | null
}

/** Projects and role that these groups of a provider give. Group names are compared exactly. */
export function wantedBy(mapping: readonly GroupMapping[], groups: readonly string[]): Wanted {
  const held = new Set(groups)
  return allOf(mapping.filter(({ group }) => held.has(group)))
}

/** Everything that a mapping can give. */
export function allOf(mapping: readonly GroupMapping[]): Wanted & { readonly roles: readonly Role[] } {
  const roles = mapping.flatMap(({ role }) => role ?? [])
  return { projects: [...new Set(mapping.flatMap(({ projects }) => projects))], roles, role: highestOf(roles) }
}
