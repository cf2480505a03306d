import { type ResourceSlots } from '#manager/contract'
import { gpusOf, partsOf } from './amounts.ts'
import { type FreeCapacity } from './free-capacity.ts'
import { type PendingSession } from './snapshot.ts'

/** Picks the agent of a session: the one with the lowest rank among those on which it fits. */
export interface Selector {
  /**
   * Returns the function that ranks free capacities. It may depend only on the free capacity's `equivalenceKey` and on whether the agent
   * holds the image: equivalent free capacities have the same rank.
   *
   * Anything that depends on the request alone is computed once. Ranking is most of the work of a plan without equal requests, so the
   * function names slots instead of looping over them, and allocates nothing.
   *
   * @param session `requested` is the total of all its kernels
   * @param capacity of the whole group: makes amounts of different slots comparable
   */
  readonly rank: (session: PendingSession, capacity: ResourceSlots) => (freeCapacity: FreeCapacity) => number
  /** True: among equal ranks, the agent that got its last session longest ago wins. False, or still equal: the lowest id. */
  readonly inTurn: boolean
}

// A rank is a single number for speed (it is computed for every candidate of every placement): each criterion has steps larger than all
// lower criteria together. Every selector first avoids agents with slots that the session does not request, so that CPU work stays off GPU
// hosts, and then prefers agents that hold the image.
const KINDS = 1000
const IMAGE = 100
const OPENED_DEVICE = 10

const concentratedRank: Selector['rank'] = (session, capacity) => {
  const { requested, gpu } = session
  const { cpu = 0, mem = 0 } = requested
  const common = commonRank(session)
  const gpus = gpusOf(requested)
  const parts = partsOf(requested, capacity)
  const asksForPart = (requested['cuda.shares'] ?? 0) > 0
  return freeCapacity => {
    const { stranded, left, freeCpu, freeMem, freeGpus } = freeCapacity.figures(capacity)
    const opened = asksForPart && freeCapacity.opensDevice(requested, gpu) ? OPENED_DEVICE : 0
    // Increase of the fraction of the agent's GPUs that is free without the CPU and RAM that go with them.
    let more = 0
    if (freeCapacity.gpus > 0) {
      const companions = Math.min((freeCpu - cpu) / freeCapacity.cpu, (freeMem - mem) / freeCapacity.mem)
      more = Math.max(0, (freeGpus - gpus) / freeCapacity.gpus - companions) - stranded
    }
    // `more` is between -1 and 1, and `left - parts` is at most 4: together less than one step of the criteria above.
    return common(freeCapacity) + opened + 2 * (1 + more) + left - parts
  }
}

/**
 * Fills agents up. It keeps whole GPUs whole, then avoids free GPUs without the CPU and RAM to use them, and then leaves the least of all
 * slots free.
 */
export const concentrated: Selector = { rank: concentratedRank, inTurn: false }

const dispersedRank: Selector['rank'] = session => {
  const common = commonRank(session)
  return freeCapacity => {
    let free = 1
    for (const slot of freeCapacity.kinds) {
      const asked = session.requested[slot] ?? 0
      if (asked > 0) free = Math.min(free, (freeCapacity.free(slot) - asked) / (freeCapacity.agent.capacity[slot] ?? 1))
    }
    return common(freeCapacity) + 1 - free
  }
}

/** Spreads sessions: picks the agent that keeps the largest fraction of its scarcest requested slot free. */
export const dispersed: Selector = { rank: dispersedRank, inTurn: false }

/** Takes turns: picks the agent that got its last session longest ago. */
export const roundRobin: Selector = { rank: commonRank, inTurn: true }

function commonRank({ requested, imageDigest }: PendingSession): (freeCapacity: FreeCapacity) => number {
  const noCpu = requested.cpu ? 0 : KINDS
  const noMem = requested.mem ? 0 : KINDS
  const noDevice = requested['cuda.device'] ? 0 : KINDS
  const noShares = requested['cuda.shares'] ? 0 : KINDS
  return freeCapacity => {
    const { cpu = 0, mem = 0, 'cuda.device': devices = 0, 'cuda.shares': shares = 0 } = freeCapacity.agent.capacity
    let rank = imageDigest !== null && freeCapacity.holds(imageDigest) ? 0 : IMAGE
    if (cpu > 0) rank += noCpu
    if (mem > 0) rank += noMem
    if (devices > 0) rank += noDevice
    if (shares > 0) rank += noShares
    return rank
  }
}
