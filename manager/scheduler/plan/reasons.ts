import { formatSlots, type Reason, type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { bare, readable } from './amounts.ts'
import { type Room } from './room.ts'
import { type AgentSnapshot, type PendingSession, totalOf } from './snapshot.ts'

/** Everything the explanation of a waiting session is made from. */
export interface Situation {
  readonly session: PendingSession
  /** All agents of the group, as if nothing ran on them. */
  readonly empty: readonly Room[]
  /** Room on the agents that may take this session, after this pass. */
  readonly rooms: readonly Room[]
  /** Whether it would have fitted before the sessions ahead of it were placed in this pass. */
  readonly fittedBefore: boolean
  /** The agent where it would fit, were what is free there not held for the session of the reservation. */
  readonly kept?: string | undefined
}

export function isWaitingFor({ waitsFor }: PendingSession): boolean {
  return waitsFor !== undefined && waitsFor.length > 0
}

export function dependencyReason({ waitsFor = [] }: PendingSession): Reason | undefined {
  if (waitsFor.length === 0) return undefined
  const names = waitsFor.map(name => `"${name}"`).join(' and ')
  return {
    code: 'dependencies',
    message: `It starts once ${names} ${waitsFor.length === 1 ? 'has' : 'have'} ended well.`,
  }
}

/** The one dominant reason why a session waits: the first that holds in the order below. */
export function explain(situation: Situation): Reason {
  return noAgent(situation) ?? imageNowhere(situation) ?? tooLarge(situation) ?? noRoom(situation)
}

function noAgent({ empty }: Situation): Reason | undefined {
  const agents = empty.map(room => room.agent)
  if (agents.length === 0) return { code: 'no_agents', message: 'No agent has joined this resource group yet.' }
  if (!agents.some(agent => agent.connected)) {
    return { code: 'agents_unreachable', message: 'No agent of this resource group is connected at the moment.' }
  }
  if (!agents.some(agent => agent.connected && agent.schedulable)) {
    return { code: 'no_agents', message: 'No connected agent accepts new sessions; an admin has paused them.' }
  }
  return undefined
}

function imageNowhere({ session, empty }: Situation): Reason | undefined {
  const { imageDigest: digest, image, requested, clusterSize, pullable = false } = session
  if (pullable && digest !== null) return undefined
  const open = empty.filter(({ agent }) => canTake(agent))
  const holders = open.filter(({ agent }) => digest !== null && agent.images.has(digest))
  if (holders.length === 0) {
    const message = `No connected agent holds the image ${image} any more, and no registry offers it.`
    return { code: 'image_nowhere', message }
  }
  const fits = (room: Room) => room.fits(requested, false, clusterSize)
  if (holders.some(fits) || !open.some(fits)) return undefined
  const message = `The agents that hold the image ${image} are too small for this session, and no registry offers it to others.`
  return { code: 'image_nowhere', message }
}

function tooLarge({ session, empty }: Situation): Reason | undefined {
  const { clusterSize } = session
  const fits = (room: Room) => room.fits(session.requested, false, clusterSize)
  if (empty.some(room => canTake(room.agent) && fits(room))) return undefined
  const requested = totalOf(session)
  const needed = formatSlots(requested)
  if (empty.some(fits)) {
    const message = 'Every agent large enough for this session is disconnected or paused.'
    return { code: 'agents_unreachable', message, needed }
  }
  const { slots, available } = closest(session, empty)
  const message = `${describeLack(requested, available, slots, 'the largest agent has')} Ask for less.`
  return { code: 'too_large', message, needed: only(requested, slots), available: only(available, slots) }
}

function noRoom({ session, rooms, fittedBefore, kept }: Situation): Reason {
  const requested = totalOf(session)
  const { slots, available } = closest(session, rooms)
  const amounts = { needed: only(requested, slots), available: only(available, slots) }
  if (kept !== undefined) {
    const message = `What is free on agent ${kept} is held for a session that has waited longer.`
    return { code: 'queued_behind', message, ...amounts }
  }
  if (fittedBefore) {
    return { code: 'queued_behind', message: 'Sessions ahead in the queue took the room that was free.', ...amounts }
  }
  const inSum = SLOT_NAMES.every(slot => (requested[slot] ?? 0) <= total(rooms, slot))
  if (inSum) {
    const lack = describeLack(requested, available, slots, 'at most')
    const message = `${lack.slice(0, -1)} free on one agent or device, although enough is free in sum.`
    return { code: 'fragmentation', message, ...amounts }
  }
  const lack = describeLack(requested, available, slots, 'at most')
  return { code: 'capacity', message: `${lack.slice(0, -1)} free now. It starts when other sessions end.`, ...amounts }
}

export function canTake(agent: AgentSnapshot): boolean {
  return agent.connected && agent.schedulable
}

/** The room that lacks the fewest slots and, among those, has the most of what is lacking. */
export function closest(
  session: Pick<PendingSession, 'requested' | 'clusterSize'>,
  rooms: readonly Room[],
): { slots: readonly SlotName[]; available: ResourceSlots } {
  const requested = totalOf(session)
  let best: { slots: readonly SlotName[]; available: ResourceSlots; rank: number } | undefined
  for (const room of rooms) {
    const slots = room.lacking(session.requested, session.clusterSize)
    const share = Math.min(...slots.map(slot => room.largest(slot) / (requested[slot] ?? 1)))
    const rank = share - slots.length
    if (best && best.rank >= rank) continue
    best = { slots, available: Object.fromEntries(slots.map(slot => [slot, room.largest(slot)])), rank }
  }
  return best ?? { slots: SLOT_NAMES.filter(slot => (requested[slot] ?? 0) > 0), available: {} }
}

function describeLack(
  requested: ResourceSlots,
  available: ResourceSlots,
  slots: readonly SlotName[],
  has: string,
): string {
  const parts = slots.map(slot => `${readable(slot, requested[slot] ?? 0)}; ${has} ${bare(slot, available[slot] ?? 0)}`)
  return `It needs ${parts.join(', and ')}.`
}

function only(slots: ResourceSlots, names: readonly SlotName[]) {
  return formatSlots(Object.fromEntries(names.map(name => [name, slots[name] ?? 0])))
}

function total(rooms: readonly Room[], slot: SlotName): number {
  return rooms.reduce((sum, room) => sum + room.free(slot), 0)
}
