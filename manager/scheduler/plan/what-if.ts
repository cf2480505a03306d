import { type AgentId, type Reason, type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { Pass } from './plan.ts'
import { isWaitingFor } from './reasons.ts'
import { type Room } from './room.ts'
import { type Selector } from './selectors.ts'
import { type GroupSnapshot, type PendingSession, type Sequencer } from './snapshot.ts'

export interface WhatIf {
  /** Where it would start now, or null. */
  readonly agentId: AgentId | null
  /** Why it would wait, or null. */
  readonly reason: Reason | null
  /** Changes of one slot each with any of which it would start now; the one that asks for the least less first. */
  readonly smaller: readonly { readonly slot: SlotName; readonly amount: number }[]
}

/**
 * What would happen to a request that was made now. Pure.
 *
 * The smaller requests are those that fit into what is left after everybody else got theirs, so each of them is certain.
 *
 * @param minimum below which no slot may go (of the image)
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
  const smaller =
    left && !isWaitingFor(session) ? smallerRequests(session, pass.roomsFor(session), { minimum, left }) : []
  return { agentId: null, reason: reasons.get(session.id) ?? null, smaller }
}

function smallerRequests(
  { requested, clusterSize = 1 }: PendingSession,
  rooms: readonly Room[],
  { minimum, left }: { minimum: ResourceSlots; left: ResourceSlots },
) {
  const over = SLOT_NAMES.filter(slot => (requested[slot] ?? 0) > (left[slot] ?? Infinity))
  const changes = SLOT_NAMES.flatMap(slot => {
    const asked = requested[slot] ?? 0
    let amount = -1
    for (const room of rooms) {
      const lacking = new Set([...room.lacking(requested, clusterSize), ...over])
      if (lacking.size !== 1 || !lacking.has(slot)) continue
      amount = Math.max(amount, Math.min(largest(room, slot, clusterSize), left[slot] ?? Infinity))
    }
    const enough = amount >= (minimum[slot] ?? 0) && amount > 0 && amount < asked
    return enough ? [{ slot, amount, kept: amount / asked }] : []
  })
  return changes.toSorted((a, b) => b.kept - a.kept).map(({ slot, amount }) => ({ slot, amount }))
}

/** The most that each of so many kernels can have of a slot. */
function largest(room: Room, slot: SlotName, kernels: number): number {
  const all = room.largest(slot)
  if (kernels === 1) return all
  let [most, tooMuch] = [0, Math.floor(all / kernels) + 1]
  while (tooMuch - most > 1) {
    const middle = Math.floor((most + tooMuch) / 2)
    if (room.fits({ [slot]: middle }, false, kernels)) most = middle
    else tooMuch = middle
  }
  return most
}
