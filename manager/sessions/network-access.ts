import {
  type AllowedNames,
  AppError,
  beyondBound,
  because,
  type Because,
  commonNames,
  keptNames,
  messageOf,
  MOST_ALLOWED_NAMES,
  type NetworkAccess,
  type Notice,
} from '#manager/contract'
import { type NetworkDefaultRow, readNetworkLimits } from '../store/quotas/network-bounds.ts'
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

type Asker = Pick<ScopedSession, 'ownerId' | 'keypair' | 'domain'>

/** The network of a session. */
export interface ResolvedNetwork {
  /** Names that it may reach; undefined: everything; an empty list: nothing. */
  readonly names: AllowedNames
  /** Says what a launch that chose nothing gets, if that is less than everything. */
  readonly notice: Notice | undefined
  /** Cause to give if no host can keep the session in; undefined if it reaches everything. */
  readonly ifNowhere: Because | undefined
}

/**
 * The names that a session may reach. A request that names no network gets what the defaults of policies and domain give, within what they
 * allow.
 *
 * @throws AppError `network_not_allowed`
 */
export async function resolveNetwork(
  db: Db,
  asker: Asker,
  wanted: NetworkAccess | undefined,
): Promise<ResolvedNetwork> {
  const { bounds, defaults } = await readNetworkLimits(db, asker)
  if (wanted === undefined) return usualNetwork(defaults, bounds)
  const names = namesOf(wanted)
  const refusal = refusalOf(names, bounds)
  if (refusal) throw new AppError('network_not_allowed', { ...refusal })
  return { names, notice: undefined, ifNowhere: names && because('no_host_restricts') }
}

/**
 * The network of a session that starts again. Nobody chose less for a session that had everything, so no default takes it away; if the
 * bounds do, the next session gets what a launch gets that chooses nothing: as much as bounds and defaults together give.
 */
export async function networkAgain(
  db: Db,
  asker: Asker,
  names: readonly string[] | null,
): Promise<NetworkAccess | undefined> {
  if (names !== null) return accessOf(names)
  const { bounds } = await readNetworkLimits(db, asker)
  return refusalOf(undefined, bounds) ? undefined : { mode: 'full' }
}

function usualNetwork(defaults: readonly NetworkDefaultRow[], bounds: readonly NetworkBound[]): ResolvedNetwork {
  const sources = [
    ...defaults.map(({ defaultNames, ...of }) => ({ ...of, list: defaultNames })),
    ...bounds.map(({ allowedNames, ...of }) => ({ ...of, list: allowedNames })),
  ]
  let names: AllowedNames
  let from: (typeof sources)[number] | undefined
  for (const source of sources) {
    if (beyondBound(names, source.list)?.length === 0) continue
    from = source
    names = commonNames(names, source.list)
  }
  if (names === undefined || from === undefined) return { names, notice: undefined, ifNowhere: undefined }
  // Several lists together may have more names than one: a session then gets the first of them.
  const kept = names.slice(0, MOST_ALLOWED_NAMES)
  const { kind, name } = from
  const why =
    kept.length === 0
      ? because(`network_default_none_of_${kind}`, { name })
      : because(`network_default_list_of_${kind}`, { name, allowed: kept.join(', ') })
  const ifNowhere = because(`no_host_restricts_default_of_${kind}`, { name })
  return { names: kept, notice: messageOf('network_by_default', why), ifNowhere }
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
