import { type ResourceSlots, SLOT_NAMES } from '#manager/contract'
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
  let best: { room: Room; rank: readonly number[] } | undefined
  for (const room of candidates) {
    const rank = [unaskedKinds(session, room), holdsImage(session, room) ? 0 : 1, leftover(session, room, capacity)]
    const order = best ? compareRanks(rank, best.rank) : -1
    if (!best || order < 0 || (order === 0 && room.agent.id < best.room.agent.id)) best = { room, rank }
  }
  if (!best) throw new Error('a selector needs at least one candidate')
  return best.room
}

function unaskedKinds({ requested }: PendingSession, room: Room): number {
  let count = 0
  for (const slot of room.kinds) if ((requested[slot] ?? 0) === 0) count++
  return count
}

function holdsImage({ imageDigest }: PendingSession, room: Room): boolean {
  return imageDigest !== null && room.agent.images.has(imageDigest)
}

function leftover({ requested }: PendingSession, room: Room, capacity: ResourceSlots): number {
  let rest = 0
  for (const slot of SLOT_NAMES) {
    const total = capacity[slot] ?? 0
    if (total > 0) rest += (room.free(slot) - (requested[slot] ?? 0)) / total
  }
  return rest
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const difference = value - (b[index] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
