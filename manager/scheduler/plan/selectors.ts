import { type ResourceSlots } from '#manager/contract'
import { gpusOf, partsOf } from './amounts.ts'
import { type Room } from './room.ts'
import { type PendingSession } from './snapshot.ts'

/** Picks the agent of a session: the one with the lowest rank among those on which it fits. */
export interface Selector {
  /**
   * Returns the function that ranks rooms. It may depend only on the room's `equivalenceKey` and on whether the room holds the
   * image: rooms that are alike have one rank.
   *
   * Anything that depends on the request alone is computed once. Ranking is most of the work of a plan in which no two
   * requests are alike, so the function names slots instead of looping over them, and allocates nothing.
   *
   * @param session `requested` is the total of all its kernels
   * @param capacity of the whole group: makes amounts of different slots comparable
   */
  readonly rank: (session: PendingSession, capacity: ResourceSlots) => (room: Room) => number
  /** True: among equal ranks, the agent that got its last session longest ago wins. False, or still equal: the lowest id. */
  readonly inTurn: boolean
}

// A rank is one number for speed (it is computed for every candidate of every placement): each criterion counts in steps
// larger than all criteria below it together. Every selector first keeps work off agents with slots that the session does
// not request, so that CPU work leaves GPU hosts alone, and then prefers agents that hold the image.
const KINDS = 1000
const IMAGE = 100
const OPENED_DEVICE = 10

const concentratedRank: Selector['rank'] = (session, capacity) => {
  const { requested } = session
  const { cpu = 0, mem = 0 } = requested
  const common = commonRank(session)
  const gpus = gpusOf(requested)
  const parts = partsOf(requested, capacity)
  const asksForPart = (requested['cuda.shares'] ?? 0) > 0
  return room => {
    const { stranded, left, freeCpu, freeMem, freeGpus } = room.figures(capacity)
    const opened = asksForPart && room.opensDevice(requested) ? OPENED_DEVICE : 0
    // Increase of the fraction of the agent's GPUs that is free without the CPU and RAM that go with them.
    let more = 0
    if (room.gpus > 0) {
      const companions = Math.min((freeCpu - cpu) / room.cpu, (freeMem - mem) / room.mem)
      more = Math.max(0, (freeGpus - gpus) / room.gpus - companions) - stranded
    }
    // `more` is between -1 and 1, and `left - parts` is at most 4: together less than one step of the criteria above.
    return common(room) + opened + 2 * (1 + more) + left - parts
  }
}

/**
 * Fills agents up. It keeps whole GPUs whole, then avoids free GPUs without the CPU and RAM to use them, and then leaves
 * the least of all slots.
 */
export const concentrated: Selector = { rank: concentratedRank, inTurn: false }

const dispersedRank: Selector['rank'] = session => {
  const common = commonRank(session)
  return room => {
    let free = 1
    for (const slot of room.kinds) {
      const asked = session.requested[slot] ?? 0
      if (asked > 0) free = Math.min(free, (room.free(slot) - asked) / (room.agent.capacity[slot] ?? 1))
    }
    return common(room) + 1 - free
  }
}

/** Spreads sessions out: picks the agent that keeps the largest fraction of its scarcest requested slot free. */
export const dispersed: Selector = { rank: dispersedRank, inTurn: false }

/** Takes turns: picks the agent that got its last session longest ago. */
export const roundRobin: Selector = { rank: commonRank, inTurn: true }

function commonRank({ requested, imageDigest }: PendingSession): (room: Room) => number {
  const noCpu = requested.cpu ? 0 : KINDS
  const noMem = requested.mem ? 0 : KINDS
  const noDevice = requested['cuda.device'] ? 0 : KINDS
  const noShares = requested['cuda.shares'] ? 0 : KINDS
  return room => {
    const { cpu = 0, mem = 0, 'cuda.device': devices = 0, 'cuda.shares': shares = 0 } = room.agent.capacity
    let rank = imageDigest !== null && room.holds(imageDigest) ? 0 : IMAGE
    if (cpu > 0) rank += noCpu
    if (mem > 0) rank += noMem
    if (devices > 0) rank += noDevice
    if (shares > 0) rank += noShares
    return rank
  }
}
