import { type ResourceSlots } from '#manager/contract'
import { type Room } from './room.ts'
import { type PendingSession } from './snapshot.ts'

/**
 * Picks the agent of a session: the one with the lowest rank among those on which it fits, and of equal ones the lowest
 * id. The rank of a room may change only when something is placed in it.
 *
 * @param capacity of the whole group: makes amounts of different slots comparable
 */
export type Selector = (session: PendingSession, room: Room, capacity: ResourceSlots) => number

// Ranks are one number for speed (they are made for every candidate of every placement): each criterion counts in
// steps larger than everything below it. Every selector first keeps work off agents with slots that nobody asked for,
// so that CPU work leaves GPU hosts alone, and then prefers agents that hold the image.
const KINDS = 1000
const IMAGE = 100
const OPENED_DEVICE = 10

/**
 * Fills agents up: keeps whole GPUs whole, then leaves no GPU without CPU and RAM to use it with, and then the least
 * of everything.
 */
export const concentrated: Selector = (session, room, capacity) => {
  const { requested } = session
  // `stranded` is at most 1 to either side and `leftover` at most 4: together less than one step of the above.
  const rest = 2 * (1 + stranded(requested, room)) + leftover(requested, room, capacity)
  return common(session, room) + (room.opensDevice(requested) ? OPENED_DEVICE : 0) + rest
}

/** Spreads out: to the agent of which the largest part is free of what the session asks for. */
export const dispersed: Selector = (session, room) => {
  let free = 1
  for (const slot of room.kinds) {
    const asked = session.requested[slot] ?? 0
    if (asked > 0) free = Math.min(free, (room.free(slot) - asked) / (room.agent.capacity[slot] ?? 1))
  }
  return common(session, room) + 1 - free
}

/** In turn: the agent that got its last session longest ago. */
export const roundRobin: Selector = (session, room) => common(session, room) * 2 ** 40 + room.turn

// The slots are named, not looped over: this is most of the work of a plan in which no two requests are alike.
function common({ requested, imageDigest }: PendingSession, { agent }: Room): number {
  const { capacity, images } = agent
  let rank = imageDigest !== null && images.has(imageDigest) ? 0 : IMAGE
  if (!requested.cpu && has(capacity.cpu)) rank += KINDS
  if (!requested.mem && has(capacity.mem)) rank += KINDS
  if (!requested['cuda.device'] && has(capacity['cuda.device'])) rank += KINDS
  if (!requested['cuda.shares'] && has(capacity['cuda.shares'])) rank += KINDS
  return rank
}

const has = (amount: number | undefined) => amount !== undefined && amount > 0

/** The free rest of all slots, each as a part of the group's capacity. */
function leftover(requested: ResourceSlots, room: Room, capacity: ResourceSlots): number {
  return (
    partOf(room.free('cpu') - (requested.cpu ?? 0), capacity.cpu) +
    partOf(room.free('mem') - (requested.mem ?? 0), capacity.mem) +
    partOf(room.free('cuda.device') - (requested['cuda.device'] ?? 0), capacity['cuda.device']) +
    partOf(room.free('cuda.shares') - (requested['cuda.shares'] ?? 0), capacity['cuda.shares'])
  )
}

/** Of a slot that nobody has there is nothing left. */
const partOf = (amount: number, all: number | undefined) => (all === undefined || all === 0 ? 0 : amount / all)

/** By how much more of the agent's GPUs would be free without the CPU and RAM that go with them. */
function stranded(requested: ResourceSlots, room: Room): number {
  const { capacity } = room.agent
  const gpus = (capacity['cuda.device'] ?? 0) * 100 + (capacity['cuda.shares'] ?? 0)
  if (gpus === 0) return 0
  const asked = (requested['cuda.device'] ?? 0) * 100 + (requested['cuda.shares'] ?? 0)
  const free = room.free('cuda.device') * 100 + room.free('cuda.shares')
  const cpu = Math.max(1, capacity.cpu ?? 0)
  const mem = Math.max(1, capacity.mem ?? 0)
  const companions = Math.min(room.free('cpu') / cpu, room.free('mem') / mem)
  const after = Math.min(
    (room.free('cpu') - (requested.cpu ?? 0)) / cpu,
    (room.free('mem') - (requested.mem ?? 0)) / mem,
  )
  return Math.max(0, (free - asked) / gpus - after) - Math.max(0, free / gpus - companions)
}
