import { formatSlots, type Reason, type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { bare, readable } from './amounts.ts'
import { type Room } from './room.ts'
import { type AgentSnapshot, type PendingSession, type PlanOptions, totalOf } from './snapshot.ts'

/** Input for the explanation of a waiting session. */
export interface Situation {
  readonly session: PendingSession
  /** All agents of the group. */
  readonly agents: readonly AgentSnapshot[]
  readonly options?: PlanOptions | undefined
  // Each list has one room of each likeness, which stands for all rooms like it.
  /** Rooms of all agents of the group, as if nothing ran on them. */
  readonly empty: readonly Room[]
  /** Empty rooms of the agents that take sessions. */
  readonly open: readonly Room[]
  /** Empty rooms of the agents that take sessions, have the storages, and hold the image or can pull it. */
  readonly holders: readonly Room[]
  /** Current rooms of the agents that may take this session. */
  readonly rooms: readonly Room[]
  /** Free amounts on these agents together. */
  readonly free: ResourceSlots
  /** Whether it would have fitted before the sessions ahead of it were placed in this pass. */
  readonly fittedBefore: boolean
  /** Name of the agent where it would fit if the free capacity there were not held for the reservation. */
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
    message: `Starts once ${names} ${waitsFor.length === 1 ? 'has' : 'have'} succeeded.`,
  }
}

/** The one dominant reason why a session waits: the first that applies, in the order below. */
export function explain(situation: Situation): Reason {
  return (
    noAgent(situation) ??
    filesAway(situation) ??
    storageNowhere(situation) ??
    imageNowhere(situation) ??
    tooLarge(situation) ??
    noRoom(situation)
  )
}

function noAgent({ agents, open }: Situation): Reason | undefined {
  if (agents.length === 0) return { code: 'no_agents', message: 'No host has joined this resource group yet.' }
  if (!agents.some(agent => agent.connected)) {
    return { code: 'agents_unreachable', message: 'No host of this resource group is connected.' }
  }
  if (!agents.some(agent => canTake(agent)) && agents.some(agent => canTake({ ...agent, unfit: false }))) {
    return {
      code: 'no_agents',
      message: 'No connected host can start sessions now. Admins: "berth admin agent ls" says what is wrong.',
    }
  }
  if (!agents.some(agent => canTake(agent))) {
    return { code: 'no_agents', message: 'No connected host accepts new sessions; an admin has paused them.' }
  }
  if (open.length === 0) {
    return {
      code: 'no_agents',
      message:
        'No connected host isolates sessions as this resource group requires. Admins: "berth admin agent ls" says what is missing.',
    }
  }
  return undefined
}

function filesAway({ session: { onlyOn }, agents, options }: Situation): Reason | undefined {
  const agent = agents.find(({ id }) => id === onlyOn)
  if (onlyOn === undefined || (agent && canTake(agent, options))) return undefined
  const message = agent
    ? `The files of this session are on host ${agent.name}, which ${canTake(agent) ? 'does not isolate sessions as this resource group requires' : 'is not connected or takes no new sessions'}.`
    : 'The files of this session are on a host that does not belong to this resource group any more.'
  return { code: 'agents_unreachable', message }
}

/** Whether the agent has all storages that the session needs. */
export function hasStorage({ storage: mounted }: AgentSnapshot, { storage = [] }: PendingSession): boolean {
  return storage.every(({ marker }) => mounted?.has(marker) ?? false)
}

function storageNowhere({ session, agents, options, open, holders }: Situation): Reason | undefined {
  const { storage = [], image, requested, clusterSize, onlyOn } = session
  if (storage.length === 0) return undefined
  const names = storage.map(({ name }) => `"${name}"`).join(' and ')
  if (!agents.some(agent => canTake(agent, options) && hasStorage(agent, session))) {
    const message = `Its folders are on the storage ${names}, which no host that takes sessions has mounted.`
    return { code: 'storage_nowhere', message }
  }
  if (onlyOn !== undefined) {
    const agent = agents.find(({ id }) => id === onlyOn)
    if (!agent || hasStorage(agent, session)) return undefined
    const message = `The files of this session are on host ${agent.name}, which has not mounted the storage ${names} of its folders.`
    return { code: 'storage_nowhere', message }
  }
  if (holders.length === 0) {
    const message = `No host has both the storage ${names} and the image ${image}, and no registry offers the image.`
    return { code: 'storage_nowhere', message }
  }
  const fits = (room: Room) => room.fits(requested, false, clusterSize)
  if (holders.some(fits) || !open.some(fits)) return undefined
  const message = `The hosts that have the storage ${names} of its folders are too small for this session.`
  return { code: 'storage_nowhere', message }
}

function imageNowhere({ session, agents, open, holders }: Situation): Reason | undefined {
  const { imageDigest: digest, image, requested, clusterSize, pullable = false } = session
  if (pullable && digest !== null) return undefined
  if (holders.length === 0) {
    const isHeld = agents.some(agent => agent.connected && digest !== null && agent.images.has(digest))
    const message = isHeld
      ? `The hosts that have the image ${image} take no new sessions now, and no registry offers it to others.`
      : `No connected host has the image ${image} any more, and no registry offers it.`
    return { code: 'image_nowhere', message }
  }
  const fits = (room: Room) => room.fits(requested, false, clusterSize)
  if (holders.some(fits) || !open.some(fits)) return undefined
  const message = `The hosts that have the image ${image} are too small for this session, and no registry offers it to others.`
  return { code: 'image_nowhere', message }
}

function tooLarge({ session, empty, open }: Situation): Reason | undefined {
  const { clusterSize } = session
  const fits = (room: Room) => room.fits(session.requested, false, clusterSize)
  if (open.some(fits)) return undefined
  const requested = totalOf(session)
  const needed = formatSlots(requested)
  if (empty.some(fits)) {
    const message = 'Every host large enough for this session is disconnected or paused.'
    return { code: 'agents_unreachable', message, needed }
  }
  const { slots, available } = closest(session, empty)
  const message = `${describeLack(requested, available, slots, amount => `the largest host has ${amount}`, 'no host has any')} Ask for less.`
  return { code: 'too_large', message, needed: only(requested, slots), available: only(available, slots) }
}

function noRoom({ session, rooms, free, fittedBefore, kept }: Situation): Reason {
  const requested = totalOf(session)
  const { slots, available } = closest(session, rooms)
  const amounts = { needed: only(requested, slots), available: only(available, slots) }
  if (kept !== undefined) {
    const message = `What is free on host ${kept} is reserved for a session that has waited longer.`
    return { code: 'queued_behind', message, ...amounts }
  }
  if (fittedBefore) {
    return { code: 'queued_behind', message: 'Sessions ahead in the queue took what was free.', ...amounts }
  }
  const inSum = SLOT_NAMES.every(slot => (requested[slot] ?? 0) <= (free[slot] ?? 0))
  if (inSum) {
    const lack = describeLack(requested, available, slots, amount => `at most ${amount} free on one host or device`)
    const message = `${lack.slice(0, -1)}, although enough is free in total.`
    return { code: 'fragmentation', message, ...amounts }
  }
  const lack = describeLack(requested, available, slots, amount => `at most ${amount} free`)
  return { code: 'capacity', message: `${lack} Starts when other sessions end.`, ...amounts }
}

export function canTake(
  agent: AgentSnapshot,
  { requireIsolation = false }: { readonly requireIsolation?: boolean | undefined } = {},
): boolean {
  return agent.connected && agent.schedulable && agent.unfit !== true && (!requireIsolation || agent.isolated === true)
}

/** Whether the agent is disconnected but expected back in a moment, and takes sessions then. */
export function isAwaited(agent: AgentSnapshot, options?: PlanOptions): boolean {
  return !agent.connected && agent.lost !== true && canTake({ ...agent, connected: true }, options)
}

/**
 * The room that lacks the fewest slots. Ties go to the room with the most of the lacking slots, relative to the request:
 * of the scarcest slot first, then in sum.
 */
export function closest(
  session: Pick<PendingSession, 'requested' | 'clusterSize'>,
  rooms: readonly Room[],
): { slots: readonly SlotName[]; available: ResourceSlots } {
  const requested = totalOf(session)
  const asked = SLOT_NAMES.filter(slot => (requested[slot] ?? 0) > 0)
  let best: Room | undefined
  let [bestRank, bestSum] = [-Infinity, 0]
  for (const room of rooms) {
    let [rank, scarcest, sum] = [0, Infinity, 0]
    for (const slot of asked) {
      if (!room.lacks(slot, session.requested[slot], session.clusterSize)) continue
      const share = room.largest(slot) / (requested[slot] ?? 1)
      rank--
      scarcest = Math.min(scarcest, share)
      sum += share
    }
    rank += scarcest
    if (best && (rank < bestRank || (rank === bestRank && sum <= bestSum))) continue
    ;[best, bestRank, bestSum] = [room, rank, sum]
  }
  if (!best) return { slots: asked, available: {} }
  const slots = best.lacking(session.requested, session.clusterSize)
  return { slots, available: Object.fromEntries(slots.map(slot => [slot, best.largest(slot)])) }
}

function describeLack(
  requested: ResourceSlots,
  available: ResourceSlots,
  slots: readonly SlotName[],
  has: (amount: string) => string,
  none = 'none free',
): string {
  const parts = slots.map(slot => {
    const amount = available[slot] ?? 0
    return `${readable(slot, requested[slot] ?? 0)} (${amount > 0 ? has(bare(slot, amount)) : none})`
  })
  return `Needs ${parts.join(' and ')}.`
}

function only(slots: ResourceSlots, names: readonly SlotName[]) {
  return formatSlots(Object.fromEntries(names.map(name => [name, slots[name] ?? 0])))
}
