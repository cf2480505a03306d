import { formatAmount, SessionId, type SessionSpec, type WhatIf } from '#manager/contract'
import { requireActiveResourceGroup } from '../scheduler/groups.ts'
import { type PendingSession, whatIf } from '../scheduler/plan/index.ts'
import { type AgentPresence, readGroup } from '../scheduler/snapshot.ts'
import { listHeldImages } from '../store/images.ts'
import { newId } from '../store/new-id.ts'
import { type Db } from '../store/schema.ts'
import { FLOOR, resolveSpec } from './resolve-spec.ts'

/**
 * Plans the group with the request added to it, and throws the plan away.
 *
 * @param ownerId matters to DRF
 * @throws AppError `image_not_found`, `request_too_large`, `resource_group_not_found`, `resource_group_inactive`
 */
export async function answerWhatIf(
  { db, presence, ownerId }: { db: Db; presence: AgentPresence; ownerId: string },
  spec: SessionSpec,
): Promise<WhatIf> {
  await requireActiveResourceGroup(db, spec.resourceGroup)
  const { snapshot, sequencer, selector } = await readGroup(db, spec.resourceGroup, presence)
  const { image, requested, notices } = resolveSpec(spec, await listHeldImages(db), snapshot.agents)
  const session: PendingSession = {
    id: newId(SessionId),
    ownerId,
    enqueuedAt: snapshot.now ?? 0,
    requested,
    imageDigest: image.id,
    image: spec.image,
    failedAgents: [],
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
    notices: [...notices],
  }
}
