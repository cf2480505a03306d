import {
  type AllowedNames,
  AppError,
  beyondBound,
  because,
  type Because,
  commonNames,
  keptNames,
  MOST_ALLOWED_NAMES,
  type NetworkAccess,
} from '#manager/contract'
import { readNetworkBounds } from '../store/quotas/network-bounds.ts'
import { type ScopedSession } from '../store/quotas/limits.ts'
import { type Db } from '../store/schema.ts'

/** A limit of the names that sessions may reach, with the policy or domain that sets it. */
export interface NetworkBound {
  readonly kind: 'policy' | 'domain'
  readonly name: string
  readonly allowedNames: readonly string[]
}

/** @returns undefined for a session with the network of its host */
export function namesOf({ mode, names = [] }: NetworkAccess): AllowedNames {
  return mode === 'full' ? undefined : keptNames(names)
}

export function accessOf(names: AllowedNames | null): NetworkAccess {
  if (names === undefined || names === null) return { mode: 'full' }
  return names.length === 0 ? { mode: 'none' } : { mode: 'allowlist', names: [...names] }
}

/**
 * The names that a session may reach. A request that names no network gets as much as policies and domain allow.
 *
 * @returns undefined for everything; an empty list for nothing
 * @throws AppError `network_not_allowed`
 */
export async function resolveNetwork(
  db: Db,
  asker: Pick<ScopedSession, 'ownerId' | 'keypair' | 'domain'>,
  wanted: NetworkAccess | undefined,
): Promise<AllowedNames> {
  const bounds = await readNetworkBounds(db, asker)
  if (wanted === undefined) {
    const common = bounds.reduce<AllowedNames>((names, bound) => commonNames(names, bound.allowedNames), undefined)
    // Several lists together may have more names than one: a session then gets the first of them.
    return common?.slice(0, MOST_ALLOWED_NAMES)
  }
  const names = namesOf(wanted)
  const refusal = refusalOf(names, bounds)
  if (refusal) throw new AppError('network_not_allowed', { ...refusal })
  return names
}

/** Why the bounds do not allow these names; undefined if they do. Pure. */
export function refusalOf(names: AllowedNames, bounds: readonly NetworkBound[]): Because | undefined {
  for (const { kind, name, allowedNames } of bounds) {
    const beyond = beyondBound(names, allowedNames)
    if (beyond?.length === 0) continue
    const allowed = allowedNames.join(', ')
    const [first] = beyond ?? []
    if (allowedNames.length === 0) return because(`network_none_of_${kind}`, { name })
    if (first === undefined) return because(`network_list_of_${kind}`, { name, allowed })
    return because(`network_name_beyond_${kind}`, { name, allowed, asked: first })
  }
  return undefined
}
