import { allDone } from '#base/all-done'
import { type AgentId, type AllowedNames, type SessionId, type SessionSpec } from '#manager/contract'
import { type Mount } from '../folders/mounts.ts'
import { imagesOf } from '../images/images.ts'
import { type KnownImages } from '../images/known-images.ts'
import { admit, requireWithinLimits } from '../quotas/admission.ts'
import { emptyAgent, type PlacingPresence } from '../scheduler/snapshot.ts'
import { type AgentRow, listAgents } from '../store/agents/agents.ts'
import { readClock } from '../store/clock.ts'
import { type ScopedSession } from '../store/quotas/limits.ts'
import { type Db } from '../store/schema.ts'
import { readLifetimeLimits } from '../store/sessions/lifetime.ts'
import { type Caller, requireScope, tokenOf } from '../users/authorize.ts'
import { resolveDependencies } from './dependencies.ts'
import { requireOwner, resolveMountsFor } from './launch-owner.ts'
import { type ResolvedLifetime, resolveLifetime, stricter } from './lifetime/ends.ts'
import { gpusOf, longestByGpuHours } from './token-gpu-time.ts'
import { resolveNetwork } from './network-access.ts'
import { requirePriority } from './priority.ts'
import { type ResolvedSpec, resolveSpec } from './resolve-spec.ts'
import { requireStartTime } from './start-time.ts'

export interface RequestDeps {
  readonly db: Db
  readonly presence: PlacingPresence
  readonly caller: Caller
}

/** A request for a session, completed with all values that the manager adds. */
export interface CheckedRequest extends ResolvedSpec {
  /** The user whose rights and limits count: the caller, or the one that an admin launches for. */
  readonly owner: Caller
  /** The scopes towards which a session counts. */
  readonly asker: ScopedSession
  /** The agents of the resource group. */
  readonly agents: readonly AgentRow[]
  readonly images: KnownImages
  readonly clusterSize: number
  readonly priority: number
  readonly lifetime: ResolvedLifetime
  readonly dependsOn: readonly SessionId[]
  readonly mounts: readonly Mount[]
  /** Names that the session may reach; undefined: everything. */
  readonly allowedNames: AllowedNames
  readonly startsAt: string | undefined
}

/**
 * Checks a request, for a launch or for a forecast. If it has several faults, the first one is reported, in this order: owner, start time,
 * project and resource group, network, image and size, limits, priority, dependencies, folders.
 *
 * @param onlyOn the agent that has the files with which the session continues: only its images and resources count
 * @throws AppError `bad_request` (start time), `network_not_allowed`, `network_not_enforceable`, `image_not_found`, `request_too_large`, `forbidden` (priority, folders by an access token), and as `requireOwner`,
 *   `admit`, `requireWithinLimits`, `resolveDependencies` and `resolveMountsFor`
 */
export async function checkRequest(
  { db, presence, caller }: RequestDeps,
  spec: SessionSpec,
  onlyOn?: AgentId,
): Promise<CheckedRequest> {
  const { resourceGroup, clusterSize = 1, priority = 0 } = spec
  if (spec.folders !== undefined && spec.folders.length > 0) requireScope(caller, 'files')
  const owner = await requireOwner(db, caller, spec.owner)
  // The order of both lists is the order in which faults are reported.
  const [startsAt, asker, agents, images, limits] = await allDone([
    checkStartTime(db, spec),
    admit(db, owner, spec),
    listAgents(db, resourceGroup),
    imagesOf(db, owner, spec.image),
    readLifetimeLimits(db, { userId: owner.userId, keypair: owner.keypair, tokenId: tokenOf(caller) }),
  ])
  const counted = onlyOn === undefined ? agents : agents.filter(({ id }) => id === onlyOn)
  const empty = counted.map(row => emptyAgent(row, presence))
  const { names: allowedNames, notice, ifNowhere } = await resolveNetwork(db, asker, spec.network)
  const resolved = resolveSpec(spec, images, { agents: empty, ifNowhere })
  const [, dependsOn, mounts] = await allDone([
    requireWithinLimits(db, asker, {
      requested: resolved.requested,
      clusterSize,
      gpu: spec.gpu,
      devices: empty.flatMap(({ devices }) => devices),
    }).then(() => requirePriority(caller, asker.domain, priority)),
    resolveDependencies(db, owner.userId, spec.dependsOn ?? []),
    resolveMountsFor(db, { caller, owner }, spec),
  ])
  const gpus = gpusOf(resolved.requested, clusterSize)
  const byGpuHours = await longestByGpuHours(db, tokenOf(caller), { gpus, count: spec.count })
  const maxLifetimeSeconds = stricter(limits.maxLifetimeSeconds, byGpuHours)
  const lifetime = resolveLifetime(spec, { ...limits, maxLifetimeSeconds })
  return {
    ...resolved,
    notices: notice ? [...resolved.notices, notice] : resolved.notices,
    owner,
    asker,
    agents,
    images,
    clusterSize,
    priority,
    lifetime,
    dependsOn,
    mounts,
    allowedNames,
    startsAt,
  }
}

/** @throws AppError `bad_request` */
async function checkStartTime(db: Db, { startsAt }: SessionSpec): Promise<string | undefined> {
  return startsAt === undefined ? undefined : requireStartTime(startsAt, await readClock(db))
}
