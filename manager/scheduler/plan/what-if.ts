import { type AgentId, type Reason, type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { Pass } from './plan.ts'
import { isWaitingFor } from './reasons.ts'
import { type FreeCapacity } from './free-capacity.ts'
import { type Selector } from './selectors.ts'
import { type GroupSnapshot, type PendingSession, type Sequencer } from './snapshot.ts'

export interface WhatIf {
  /** The agent on which the request would start now, or null. */
  readonly agentId: AgentId | null
  /** The reason why it would wait, or null. */
  readonly reason: Reason | null
  /** Changes of a single slot, each enough for the request to start now; the smallest relative reduction first. */
  readonly smaller: readonly { readonly slot: SlotName; readonly amount: number }[]
}

/**
 * Predicts what would happen to a request made now. Pure.
 *
 * The smaller requests fit into the capacity that remains after all other sessions have been placed, so each of them would start.
 *
 * @param minimum of the image: no suggested amount is below it
 */
export function whatIf(
  snapshot: GroupSnapshot,
  session: PendingSession,
  { sequencer, selector, minimum }: { sequencer: Sequencer; selector: Selector; minimum: ResourceSlots },
): WhatIf {
  const pass = new Pass({ ...snapshot, pending: [...snapshot.pending, session] }, sequencer, selector)
  const { placements, reasons } = pass.run()
  const placed = placements.find(({ sessionId }) => sessionId === session.id)
  if (placed) return { agentId: placed.agentId, reason: null, smaller: [] }
  const left = pass.leftFor(session)
  const smaller = left && !isWaitingFor(session) ? smallerRequests(session, pass, { minimum, left }) : []
  return { agentId: null, reason: reasons.get(session.id) ?? null, smaller }
}

function smallerRequests(
  asked: PendingSession,
  pass: Pass,
  { minimum, left }: { minimum: ResourceSlots; left: ResourceSlots },
) {
  const { requested, clusterSize = 1 } = asked
  const freeCapacities = pass.freeCapacitiesFor(asked)
  const over = SLOT_NAMES.filter(slot => (requested[slot] ?? 0) > (left[slot] ?? Infinity))
  const changes = SLOT_NAMES.flatMap(slot => {
    const whole = requested[slot] ?? 0
    let amount = -1
    // Fewer GPUs may be within a limit on a model that this many exceed.
    for (const { gpu, most } of pass.needsOfLess(asked, slot)) {
      for (const freeCapacity of freeCapacities) {
        const lacking = new Set([...freeCapacity.lacking(requested, clusterSize, gpu), ...over])
        // With the devices of this need there may be enough: then only the limit on the model is in the way.
        if (most < whole) lacking.add(slot)
        if (lacking.size !== 1 || !lacking.has(slot)) continue
        const free = largest(freeCapacity, slot, { gpu, clusterSize })
        amount = Math.max(amount, Math.min(free, most, left[slot] ?? Infinity))
      }
    }
    const enough = amount >= (minimum[slot] ?? 0) && amount > 0 && amount < whole
    return enough ? [{ slot, amount, kept: amount / whole }] : []
  })
  return changes.toSorted((a, b) => b.kept - a.kept).map(({ slot, amount }) => ({ slot, amount }))
}

/** Largest amount of a slot that each of the kernels can have. */
function largest(
  freeCapacity: FreeCapacity,
  slot: SlotName,
  { gpu, clusterSize: kernels = 1 }: Pick<PendingSession, 'gpu' | 'clusterSize'>,
): number {
  const all = freeCapacity.largest(slot, gpu)
  if (kernels === 1) return all
  let [most, tooMuch] = [0, Math.floor(all / kernels) + 1]
  while (tooMuch - most > 1) {
    const middle = Math.floor((most + tooMuch) / 2)
    if (freeCapacity.fits({ [slot]: middle }, false, kernels, gpu)) most = middle
    else tooMuch = middle
  }
  return most
}
