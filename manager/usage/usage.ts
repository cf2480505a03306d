import {
  AppError,
  formatSlots,
  type GroupId,
  type Overview,
  type Recalculation,
  type Resources,
  type ResourceSlots,
  type ScopeUsage,
  SLOT_NAMES,
  type UsageHistory,
  type UsageHistoryQuery,
  type UsageReport,
  type UsageReports,
  type UserId,
} from '#manager/contract'
import { type AgentService } from '../agents/service.ts'
import { type Scope } from '../scheduler/plan/index.ts'
import { findDomain } from '../store/identity/domains.ts'
import { findGroup, listGroups, listMemberships } from '../store/identity/groups.ts'
import { listAccessKeys } from '../store/identity/keypairs.ts'
import { listScopes, type ScopeIds, scopeKey } from '../store/quotas/limits.ts'
import { noSuchDomain } from '../store/missing.ts'
import { type Db } from '../store/schema.ts'
import { findUser } from '../store/identity/users.ts'
import { administers, type Caller, managesAccount } from '../users/authorize.ts'
import { withHeld } from '../scheduler/read-limits.ts'
import { readHistoryOf } from './history.ts'
import { toLimitUse } from '../quotas/what-is-left.ts'
import { type LimitUseQuery, readLimitUse } from './limit-users.ts'
import { type IdleQuery, listIdleOf, type OverviewDeps, readOverviewOf } from './overview.ts'
import { type FirstRowsQuery, type PagedReportQuery, readReportOf, readReportsOf } from './report.ts'
import { recalculate, type RecalculateDeps } from './recalculate.ts'
import { readResources, type ResourcesQuery } from './resources.ts'

/** Limits, and the amounts that count towards them. */
export interface Usages {
  /** As `readUsageOf`. */
  of(caller: Caller, query: UsageQuery): Promise<ScopeUsage[]>
  /** As `readResources`. */
  resources(caller: Caller, query: ResourcesQuery): Promise<Resources>
  /** As `readHistoryOf`. */
  history(caller: Caller, query: UsageHistoryQuery): Promise<UsageHistory>
  /** @throws AppError `bad_request` */
  report(caller: Caller, query: PagedReportQuery): Promise<UsageReport>
  /** As `readReportsOf`. */
  reports(caller: Caller, query: FirstRowsQuery): Promise<UsageReports>
  /** As `readLimitUse`. */
  limitUse(caller: Caller, query: LimitUseQuery): ReturnType<typeof readLimitUse>
  /** As `readOverviewOf`. */
  overview(caller: Caller, query: { readonly setUp?: boolean | undefined }): Promise<Overview>
  /** As `listIdleOf`. */
  idle(caller: Caller, query: IdleQuery): ReturnType<typeof listIdleOf>
  /** As `recalculate`. */
  recalculate(caller: Caller): Promise<Recalculation>
}

export function createUsages(
  deps: RecalculateDeps &
    Pick<OverviewDeps, 'scheduling' | 'readSetUp'> & {
      readonly figures: Pick<AgentService, 'resources' | 'summaries'>
    },
): Usages {
  const { db } = deps.store
  return {
    of: (caller, query) => readUsageOf(db, caller, query),
    resources: (caller, query) => readResources({ db, agents: deps.figures }, caller, query),
    history: (caller, query) => readHistoryOf(deps.store, caller, query),
    report: (caller, query) => readReportOf(deps.store, caller, query),
    reports: (caller, query) => readReportsOf(deps.store, caller, query),
    limitUse: (caller, query) => readLimitUse(db, caller, query),
    overview: (caller, query) => readOverviewOf({ ...deps, db, agents: deps.figures }, caller, query),
    idle: (caller, query) => listIdleOf(db, caller, query),
    recalculate: caller => recalculate(deps, caller.email),
  }
}

export interface UsageQuery {
  readonly userId?: UserId | undefined
  readonly groupId?: GroupId | undefined
  readonly domain?: string | undefined
}

/**
 * Limits, held and remaining amounts of the caller, with their keypairs, groups and domain; admins can also query others.
 * A target that the caller may not see is reported as not found.
 *
 * @throws AppError `user_not_found`, `group_not_found`, `domain_not_found`
 */
export async function readUsageOf(db: Db, caller: Caller, query: UsageQuery): Promise<ScopeUsage[]> {
  const ids = await idsOf(db, caller, query)
  const scopes = await withHeld(db, await listScopes(db, ids))
  return Object.entries(ids).flatMap(([kind, list]) =>
    list.flatMap(id => {
      const scope = scopes.get(scopeKey(kind as Scope['kind'], id))
      return scope ? [toUsage(id, scope)] : []
    }),
  )
}

async function idsOf(db: Db, caller: Caller, { userId, groupId, domain }: UsageQuery): Promise<ScopeIds> {
  const none = { user: [], keypair: [], group: [], domain: [] }
  if (groupId !== undefined) {
    const group = await findGroup(db, groupId)
    const member = group && (await listMemberships(db, caller.userId)).some(({ id }) => id === groupId)
    if (!group || (!member && !administers(caller, group.domain))) throw new AppError('group_not_found', { groupId })
    return { ...none, group: [groupId] }
  }
  if (domain !== undefined) {
    const known = (domain === caller.domain || administers(caller, domain)) && (await findDomain(db, domain))
    if (!known) throw noSuchDomain(domain)
    const groups = administers(caller, domain) ? await listGroups(db, { domain }) : []
    return { ...none, group: groups.map(({ id }) => id), domain: [domain] }
  }
  const user = await findUser(db, userId ?? caller.userId)
  if (!user || (user.id !== caller.userId && !managesAccount(caller, user))) throw new AppError('user_not_found')
  const groups = await listMemberships(db, user.id)
  return {
    user: [user.id],
    keypair: await listAccessKeys(db, user.id),
    group: groups.map(({ id }) => id),
    domain: [user.domain],
  }
}

function toUsage(
  id: string,
  { kind, name, policy, limits, models = [], held, sessions, maxSessions }: Scope,
): ScopeUsage {
  return {
    kind,
    id,
    name,
    policy,
    limits: formatSlots(limits),
    held: formatSlots(held),
    left: formatSlots(leftOf(limits, held)),
    ...(models.length === 0 ? {} : { gpuLimits: models.map(limit => toLimitUse(limit, policy ?? name)) }),
    maxSessions,
    sessions,
  }
}

function leftOf(limits: ResourceSlots, held: ResourceSlots): ResourceSlots {
  const limited = SLOT_NAMES.filter(slot => limits[slot] !== undefined)
  return Object.fromEntries(limited.map(slot => [slot, Math.max(0, (limits[slot] ?? 0) - (held[slot] ?? 0))]))
}
