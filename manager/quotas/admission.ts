import { allDone } from '#base/all-done'
import {
  AppError,
  because,
  type Because,
  type ErrorCode,
  formatSlots,
  type GpuChoice,
  gpusText,
  type ResourceSlots,
  type SessionSpec,
} from '#manager/contract'
import { toModelLimit } from '../scheduler/read-limits.ts'
import { requireActive } from './require-resource-group.ts'
import { slurmElsewhere, type SlurmOwner, slurmRefusal } from '../scheduler/slurm-refusal.ts'
import {
  gpusNeeded,
  holderOf,
  type KindOfDevice,
  mayGive,
  neverAllowed,
  neverAllowedModel,
  readable,
  type Scope,
} from '../scheduler/plan/index.ts'
import {
  listScopes,
  mayUse,
  readGroupAccess,
  scopeIdsOf,
  scopeKeysOf,
  scopeKey,
  type ScopedSession,
} from '../store/quotas/limits.ts'
import { findUser } from '../store/identity/users.ts'
import { findResourceGroup } from '../store/quotas/resource-groups.ts'
import { listPoliciesOf } from '../store/quotas/resource-policies.ts'
import { type Db } from '../store/schema.ts'
import { isOfDoubtfulPerson } from '../users/acting-for.ts'
import { type Caller } from '../users/authorize.ts'
import { requireGroupOf } from './group-of.ts'
import { asked } from './what-is-left.ts'

const CODES = {
  user: 'over_user_policy',
  keypair: 'over_keypair_policy',
  group: 'over_group_limit',
  domain: 'over_domain_limit',
} as const satisfies Record<Scope['kind'], ErrorCode>

/**
 * Checks that the caller may request a session in this group and resource group. A resource group that the caller may not
 * use is refused exactly like one that does not exist.
 *
 * @returns the scopes that the session would count against
 * @throws AppError `group_not_found`, `group_inactive`, `resource_group_not_found`, `resource_group_inactive`, `bad_request` (shares or
 *   a choice of GPUs in a group run by Slurm, a person without a user there, choices that it does not offer, or choices in Slurm elsewhere)
 */
export async function admit(
  db: Db,
  caller: Caller,
  {
    resourceGroup,
    group,
    ...request
  }: Pick<SessionSpec, 'resourceGroup' | 'group'> &
    Partial<Pick<SessionSpec, 'resources' | 'gpu' | 'slurm' | 'clusterMode'>>,
): Promise<ScopedSession> {
  const [{ id }, access, found] = await allDone([
    requireGroupOf(db, caller, group),
    readGroupAccess(db, resourceGroup, [caller.userId]),
    findResourceGroup(db, resourceGroup),
  ])
  const session = asked(caller, id)
  if (!mayUse(access, session)) {
    throw new AppError('resource_group_not_found', {
      name: resourceGroup,
      ...because('group_without_access_in_project', { group: resourceGroup }),
    })
  }
  const { engine, options } = requireActive(found, resourceGroup)
  const refusal =
    engine === 'slurm'
      ? slurmRefusal({ ...request, owner: await slurmOwner(db, caller) }, resourceGroup, options.slurm)
      : slurmElsewhere(request, resourceGroup)
  if (refusal) throw new AppError('bad_request', { ...refusal })
  return session
}

async function slurmOwner(db: Db, { userId, email }: Pick<Caller, 'userId' | 'email'>): Promise<SlurmOwner> {
  const user = await findUser(db, userId)
  return { email, isDoubtful: !user || isOfDoubtfulPerson(user) }
}

/**
 * Refuses a request that exceeds a limit by itself, because it would wait for ever. A request that merely does not fit beside running
 * sessions is accepted, and waits.
 *
 * @throws AppError `over_concurrency_limit`, `over_container_limit`, `over_user_policy`, `over_keypair_policy`, `over_group_limit`,
 *   `over_domain_limit`
 */
export async function requireWithinLimits(
  db: Db,
  session: ScopedSession,
  request: {
    requested: ResourceSlots
    clusterSize: number
    gpu?: GpuChoice | undefined
    /** Devices of the resource group. */
    devices: readonly KindOfDevice[]
  },
): Promise<void> {
  await checkContainers(db, session, request.clusterSize)
  const rows = await listScopes(db, scopeIdsOf([session]), { limitedOnly: true })
  const byKey = new Map(
    rows.map(row => [
      scopeKey(row.kind, row.id),
      { ...row, models: row.gpuLimits.map(limit => toModelLimit(limit, [])), held: {}, sessions: 0 },
    ]),
  )
  const scopes = scopeKeysOf(session).flatMap(key => byKey.get(key) ?? [])
  const broken = neverAllowed(request, scopes)
  if (!broken) {
    requireModels(request, scopes)
    return
  }
  const { scope, slot, needed, limit } = broken
  if (slot === null) {
    throw new AppError('over_concurrency_limit', {
      policy: scope.policy,
      ...because('policy_allows_none', { policy: scope.policy ?? scope.name }),
    })
  }
  throw new AppError(CODES[scope.kind], {
    slot,
    needed: formatSlots({ [slot]: needed })[slot],
    limit: formatSlots({ [slot]: limit })[slot],
    ...(scope.policy === null ? { name: scope.name } : { policy: scope.policy }),
    ...limitText(scope, { needed: readable(slot, needed), limit: readable(slot, limit) }),
  })
}

/** @throws AppError `over_user_policy`, `over_keypair_policy`, `over_group_limit`, `over_domain_limit` */
function requireModels(
  { devices, ...request }: Parameters<typeof requireWithinLimits>[2],
  scopes: readonly Scope[],
): void {
  const accepted = devices.filter(({ slot, kind }) => (request.requested[slot] ?? 0) > 0 && mayGive(request.gpu, kind))
  const broken = neverAllowedModel(request, scopes, accepted)
  if (!broken) return
  const { scope, limit } = broken
  const values = { needed: gpusNeeded(request), limit: gpusText(limit.limit), model: limit.model }
  const holder = holderOf(scope)
  const name = scope.policy ?? scope.name
  throw new AppError(CODES[scope.kind], {
    ...values,
    ...(scope.policy === null ? { name } : { policy: name }),
    ...modelLimitText(holder, { ...values, name }),
  })
}

function modelLimitText(
  holder: ReturnType<typeof holderOf>,
  {
    name,
    ...values
  }: { readonly name: string; readonly needed: string; readonly limit: string; readonly model: string },
): Because {
  if (holder === 'project') return because('model_limit_of_project', { ...values, project: name })
  if (holder === 'domain') return because('model_limit_of_domain', { ...values, domain: name })
  return because(`model_limit_of_${holder}`, { ...values, policy: name })
}

function limitText({ kind, name, policy }: Scope, amounts: { needed: string; limit: string }): Because {
  switch (kind) {
    case 'user':
      return because('limit_of_user', { ...amounts, policy: policy ?? name })
    case 'keypair':
      return because('limit_of_keypair', { ...amounts, policy: policy ?? name })
    case 'group':
      return because('limit_of_project', { ...amounts, project: name })
    case 'domain':
      return because('limit_of_domain', { ...amounts, domain: name })
  }
}

async function checkContainers(db: Db, session: ScopedSession, containers: number): Promise<void> {
  if (containers === 1) return
  const policies = await listPoliciesOf(db, { userId: session.ownerId, keypair: session.keypair })
  for (const { name, max_containers_per_session: limit } of policies) {
    if (limit === null || containers <= limit) continue
    throw new AppError('over_container_limit', {
      policy: name,
      needed: containers,
      limit,
      ...because('too_many_containers', { containers, policy: name, limit }),
    })
  }
}
