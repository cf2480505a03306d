import { sizeText } from '#base/size-text'
import {
  because,
  formatAmount,
  messageOf,
  type Notice,
  reasonOf,
  type SessionSpec,
  type WhatIf,
} from '#manager/contract'
import { isOffered } from '../images/known-images.ts'
import { judgeDependencies } from '../scheduler/dependencies.ts'
import { readGivable } from '../scheduler/givable.ts'
import { longestHold } from '../scheduler/latest-end.ts'
import { PAUSED } from '../scheduler/pause.ts'
import { dependencyReason, Limits, type PendingSession, whatIf } from '../scheduler/plan/index.ts'
import { withoutWithdrawn } from '../scheduler/rights.ts'
import { networkedAgents, tooFewHosts } from '../scheduler/slurm-hosts.ts'
import { readGroup } from '../scheduler/snapshot.ts'
import { startsLater } from '../scheduler/start-times.ts'
import { readArchitectures } from '../store/images/images.ts'
import { readPause } from '../store/operation/pause.ts'
import { findDependencies } from '../store/sessions/dependencies.ts'
import { readStorageOf } from '../store/sessions/session-folders.ts'
import { checkRequest, type RequestDeps } from './check-request.ts'
import { FLOOR } from './resolve-spec.ts'
import { readRights } from './rights/read-rights.ts'

/**
 * Plans the resource group with the request added, and discards the plan. For several sessions the answer is about the
 * first.
 *
 * @throws AppError as `checkRequest`
 */
export async function answerWhatIf(
  deps: RequestDeps & { readonly copyRate?: (() => number | undefined) | undefined },
  spec: SessionSpec,
): Promise<WhatIf> {
  const { db, presence } = deps
  const { resourceGroup, count } = spec
  const checked = await checkRequest(deps, spec)
  const { asker, agents, image, reference, requested, clusterSize, priority, mounts, startsAt } = checked
  const notices = count > 1 ? [...checked.notices, ofSeveral(count)] : [...checked.notices]
  const dependencies = judgeDependencies(await findDependencies(db, asker.id, checked.dependsOn))
  const doomed = dependencies.failed.get(asker.id)
  if (doomed) return { startsNow: false, reason: doomed, smaller: [], notices }
  const group = await readGroup(db, resourceGroup, presence, { asker, agents })
  const { sequencer, selector, limits, engine } = group
  const snapshot = withoutWithdrawn(group.snapshot, await readRights(db, { resourceGroup }))
  if (startsAt !== undefined && Date.parse(startsAt) > (snapshot.now ?? 0)) {
    return { startsNow: false, reason: startsLater(new Date(startsAt)), smaller: [], notices }
  }
  if (await readPause(db)) return { startsNow: false, reason: PAUSED, smaller: [], notices }
  const storage = await readStorageOf(
    db,
    mounts.map(({ folderId }) => folderId),
  )
  const named = { reference, digest: image.id }
  const isGivable = (await readGivable(db, [named], presence)).has(named)
  const session: PendingSession = {
    id: asker.id,
    ownerId: asker.ownerId,
    ...limits.of(asker),
    enqueuedAt: snapshot.now ?? 0,
    requested,
    gpu: spec.gpu,
    clusterSize,
    clusterMode: spec.clusterMode,
    restricted: checked.allowedNames !== undefined,
    priority,
    waitsFor: dependencies.waitsFor.get(asker.id),
    imageDigest: image.id,
    image: reference,
    pullable: isOffered(image, checked.images.offered.get(reference)) || isGivable,
    architecture: (await readArchitectures(db, [image.id])).get(image.id),
    storage: storage.length === 0 ? undefined : storage,
    failedAgents: [],
    interruptible: spec.interruptible,
    longestHold: longestHold(checked.lifetime.maxLifetimeSeconds),
  }
  // Only Slurm knows what is free, and who is next.
  if (engine === 'slurm') {
    const rules = new Limits(snapshot.scopes)
    const gpus = snapshot.agents.flatMap(({ devices }) => devices)
    const blocked =
      tooFewHosts(session, networkedAgents(snapshot.agents)) ??
      rules.explain(session) ??
      rules.explainModels(session, gpus) ??
      dependencyReason(session)
    return { startsNow: false, reason: blocked ?? SLURM_DECIDES, smaller: [], notices }
  }
  const { agentId, reason, smaller } = whatIf(snapshot, session, {
    sequencer,
    selector,
    minimum: { ...FLOOR, ...image.minimum },
  })
  const chosen = snapshot.agents.find(({ id }) => id === agentId)
  const isCopied = isGivable && chosen !== undefined && !chosen.images.has(image.id)
  return {
    startsNow: agentId !== null,
    reason,
    smaller: smaller.map(({ slot, amount }) => ({ slot, amount: formatAmount(slot, amount) })),
    notices: isCopied ? [...notices, ofCopy(image.sizeBytes, deps.copyRate?.())] : notices,
  }
}

const SLURM_DECIDES = reasonOf('allocation_waits', because('slurm_decides'))

/** @param rate bytes per second of the last copy of an image between hosts */
function ofCopy(bytes: number, rate: number | undefined): Notice {
  const size = sizeText(bytes)
  if (rate === undefined || rate <= 0) return messageOf('image_from_host', because('image_from_host', { size }))
  const seconds = Math.ceil(bytes / rate)
  return messageOf('image_from_host', because('image_from_host_in', { size, seconds, rate: sizeText(rate) }))
}

function ofSeveral(count: number): Notice {
  return messageOf('first_of_several', because('first_of_several', { count }))
}
