import {
  AppError,
  because,
  formatSlots,
  type GroupId,
  type LimitHolder,
  type LimitUse,
  type LimitUser,
  type ResourceSlots,
} from '#manager/contract'
import { nextOffset, parseOffset } from '../offset-cursor.ts'
import { noSuchDomain, noSuchPolicy } from '../store/missing.ts'
import { findDomain } from '../store/identity/domains.ts'
import { findGroup } from '../store/identity/groups.ts'
import { listLimitUsers } from '../store/quotas/limit-users.ts'
import { readHeld, scopeKey } from '../store/quotas/limits.ts'
import { findResourcePolicy } from '../store/quotas/resource-policies.ts'
import { type Db } from '../store/schema.ts'
import { administers, type Caller, visibleAccounts } from '../users/authorize.ts'

export interface LimitUseQuery {
  readonly policy?: string | undefined
  readonly groupId?: GroupId | undefined
  readonly domain?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

/**
 * Users of the limits of a resource policy, a project or a domain, and their amounts.
 *
 * @throws AppError `bad_request` (not exactly one of them), `resource_policy_not_found`, `group_not_found`, `domain_not_found`
 */
export async function readLimitUse(
  db: Db,
  caller: Caller,
  { limit, cursor, ...query }: LimitUseQuery,
): Promise<LimitUse & { items: LimitUser[]; nextCursor: string | null }> {
  const { by, limits, maxSessions } = await findLimits(db, caller, query)
  const offset = parseOffset(cursor)
  const visibleIn = visibleAccounts(caller).domain
  const [{ rows, total }, shared] = await Promise.all([
    listLimitUsers(db, { by, limits, maxSessions, visibleIn, limit, offset }),
    readShared(db, by),
  ])
  return {
    limits: formatSlots(limits),
    maxSessions,
    shared,
    items: rows.map(({ held, ...row }) => ({ ...row, held: formatSlots(held) })),
    nextCursor: nextOffset({ start: offset, count: rows.length, total }),
    total,
  }
}

interface Limited {
  readonly by: LimitHolder
  readonly limits: ResourceSlots
  readonly maxSessions: number | null
}

async function findLimits(
  db: Db,
  caller: Caller,
  { policy, groupId, domain }: Pick<LimitUseQuery, 'policy' | 'groupId' | 'domain'>,
): Promise<Limited> {
  if ([policy, groupId, domain].filter(one => one !== undefined).length !== 1) {
    throw new AppError('bad_request', because('one_holder_of_limits'))
  }
  if (groupId !== undefined) {
    const group = await findGroup(db, groupId)
    if (!group || !administers(caller, group.domain)) throw new AppError('group_not_found', { groupId })
    return { by: { groupId }, limits: group.limits, maxSessions: null }
  }
  if (domain !== undefined) {
    const found = administers(caller, domain) ? await findDomain(db, domain) : undefined
    if (!found) throw noSuchDomain(domain)
    return { by: { domain }, limits: found.limits, maxSessions: null }
  }
  const name = policy ?? ''
  const found = await findResourcePolicy(db, name)
  if (!found) throw noSuchPolicy(name)
  return { by: { policy: name }, limits: found.limits, maxSessions: found.max_concurrent_sessions }
}

/** Sums over all accounts, including those that the caller does not see: an admin sees how full the shared limits are. */
async function readShared(db: Db, by: LimitHolder): Promise<LimitUse['shared']> {
  if ('policy' in by) return null
  const [kind, id] = 'groupId' in by ? (['group', by.groupId] as const) : (['domain', by.domain] as const)
  const held = await readHeld(db, { user: [], keypair: [], group: [], domain: [], [kind]: [id] })
  const { slots = {}, sessions = 0 } = held.get(scopeKey(kind, id)) ?? {}
  return { held: formatSlots(slots), sessions }
}
