import { type ResourceSlots } from '#manager/contract'
import { type Room } from './room.ts'
import { type PendingSession } from './snapshot.ts'

/**
 * Picks the agent of a session among those on which it fits.
 *
 * @param candidates at least one, each with room for the session
 * @param capacity of the whole group: makes amounts of different slots comparable
 */
export type Selector = (session: PendingSession, candidates: readonly Room[], capacity: ResourceSlots) => Room

/**
 * Fills agents up: first those with the fewest kinds of slots nobody asked for (CPU work keeps off GPU hosts), then those
 * that hold the image, then the one on which the least is left over, and last the lowest id.
 */
export const concentrated: Selector = (session, candidates, capacity) => {
  const { requested, imageDigest } = session
  let best: Room | undefined
  let bestKinds = Infinity
  let bestImage = Infinity
  let bestLeft = Infinity
  // Runs for every candidate of every placement, so it makes no objects and looks at the next rank only on a tie.
  for (const room of candidates) {
    const kinds = unaskedKinds(requested, room)
    if (kinds > bestKinds) continue
    const image = imageDigest !== null && room.agent.images.has(imageDigest) ? 0 : 1
    if (kinds === bestKinds && image > bestImage) continue
    const left = leftover(requested, room, capacity)
    if (best && kinds === bestKinds && image === bestImage) {
      if (left > bestLeft || (left === bestLeft && room.agent.id > best.agent.id)) continue
    }
    best = room
    bestKinds = kinds
    bestImage = image
    bestLeft = left
  }
  if (!best) throw new Error('a selector needs at least one candidate')
  return best
}

function unaskedKinds(requested: ResourceSlots, room: Room): number {
  let count = 0
  for (const slot of room.kinds) if (!requested[slot]) count++
  return count
}

/** The free rest of all slots, each as a part of the group's capacity. */
function leftover(requested: ResourceSlots, room: Room, capacity: ResourceSlots): number {
  let rest = 0
  for (const slot of room.kinds) rest += (room.free(slot) - (requested[slot] ?? 0)) / (capacity[slot] ?? 1)
  return rest
}
