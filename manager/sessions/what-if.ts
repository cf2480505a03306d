import { because, formatAmount, messageOf, type Notice, type SessionSpec, type WhatIf } from '#manager/contract'
import { admit, requireWithinLimits } from '../quotas/admission.ts'
import { readStorageOf } from '../store/sessions/session-folders.ts'
import { imagesOf } from '../images/images.ts'
import { isOffered } from '../images/known-images.ts'
import { judgeDependencies } from '../scheduler/dependencies.ts'
import { longestHold } from '../scheduler/latest-end.ts'
import { PAUSED } from '../scheduler/pause.ts'
import { type PendingSession, whatIf } from '../scheduler/plan/index.ts'
import { withoutWithdrawn } from '../scheduler/rights.ts'
import { type PlacingPresence, readGroup } from '../scheduler/snapshot.ts'
import { startsLater } from '../scheduler/start-times.ts'
import { findDependencies } from '../store/sessions/dependencies.ts'
import { readLifetimeLimits } from '../store/sessions/lifetime.ts'
import { readPause } from '../store/operation/pause.ts'
import { type Db } from '../store/schema.ts'
import { type Caller } from '../users/authorize.ts'
import { resolveDependencies } from './dependencies.ts'
import { resolveLifetime } from './lifetime/ends.ts'
import { requireOwner, resolveMountsFor } from './launch-owner.ts'
import { requirePriority } from './priority.ts'
import { FLOOR, resolveSpec } from './resolve-spec.ts'
import { readRights } from './rights/read-rights.ts'
import { requireStartTime } from './start-time.ts'

/**
 * Plans the resource group with the request added, and discards the plan. For several sessions the answer is about the
 * first.
 *
 * @throws AppError `image_not_found`, `request_too_large`, `forbidden`, `dependency_not_found`, and as `admit` and
 *   `requireWithinLimits`
 */
export async function answerWhatIf(
  { db, presence, caller }: { db: Db; presence: PlacingPresence; caller: Caller },
  spec: SessionSpec,
): Promise<WhatIf> {
  const owner = await requireOwner(db, caller, spec.owner)
  const asker = await admit(db, owner, spec)
  const group = await readGroup(db, spec.resourceGroup, presence, asker)
  const { sequencer, selector, limits } = group
  const snapshot = withoutWithdrawn(group.snapshot, await readRights(db, { resourceGroup: spec.resourceGroup }))
  const images = await imagesOf(db, owner, spec.image)
  const { image, reference, requested, notices: resolved } = resolveSpec(spec, images, snapshot.agents)
  const notices = spec.count > 1 ? [...resolved, ofSeveral(spec.count)] : [...resolved]
  await requireWithinLimits(db, asker, { requested, clusterSize: spec.clusterSize ?? 1 })
  const lifetime = resolveLifetime(spec, await readLifetimeLimits(db, owner.userId, owner.keypair))
  requirePriority(caller, asker.domain, spec.priority ?? 0)
  const dependsOn = await resolveDependencies(db, owner.userId, spec.dependsOn ?? [])
  const mounts = await resolveMountsFor(db, { caller, owner }, spec)
  const storage = await readStorageOf(
    db,
    mounts.map(({ folderId }) => folderId),
  )
  const dependencies = judgeDependencies(await findDependencies(db, asker.id, dependsOn))
  const doomed = dependencies.failed.get(asker.id)
  if (doomed) return { startsNow: false, reason: doomed, smaller: [], notices }
  const startsAt = requireStartTime(spec.startsAt, snapshot.now ?? 0)
  if (startsAt !== undefined && Date.parse(startsAt) > (snapshot.now ?? 0)) {
    return { startsNow: false, reason: startsLater(new Date(startsAt)), smaller: [], notices }
  }
  if (await readPause(db)) return { startsNow: false, reason: PAUSED, smaller: [], notices }
  const session: PendingSession = {
    id: asker.id,
    ownerId: asker.ownerId,
    ...limits.of(asker),
    enqueuedAt: snapshot.now ?? 0,
    requested,
    clusterSize: spec.clusterSize ?? 1,
    priority: spec.priority ?? 0,
    waitsFor: dependencies.waitsFor.get(asker.id),
    imageDigest: image.id,
    image: reference,
    pullable: isOffered(image, images.offered.get(reference)),
    storage: storage.length === 0 ? undefined : storage,
    failedAgents: [],
    interruptible: spec.interruptible,
    longestHold: longestHold(lifetime.maxLifetimeSeconds),
  }
  const { agentId, reason, smaller } = whatIf(snapshot, session, {
    sequencer,
    selector,
    minimum: { ...FLOOR, ...image.minimum },
  })
  return {
    startsNow: agentId !== null,
    reason,
    smaller: smaller.map(({ slot, amount }) => ({ slot, amount: formatAmount(slot, amount) })),
    notices,
  }
}

function ofSeveral(count: number): Notice {
  return messageOf('first_of_several', because('first_of_several', { count }))
}
