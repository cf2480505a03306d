import {
  addSlots,
  because,
  type Reason,
  reasonOf,
  type ResourceSlots,
  SLOT_NAMES,
  subtractSlots,
} from '#manager/contract'
import { fits } from './agent-capacities.ts'
import { partsOf } from './amounts.ts'
import { FreeCapacity, type FreeCapacityOptions } from './free-capacity.ts'
import {
  type AgentSnapshot,
  type DeviceAllocation,
  type HoldingSession,
  type InterruptionRules,
  type PendingSession,
  totalOf,
} from './snapshot.ts'

/** The sessions to stop on one agent, and the devices that the waiting session then gets. */
export interface Victims {
  readonly sessions: readonly HoldingSession[]
  readonly devices: readonly DeviceAllocation[]
  /** Upper bound of the lost work: the fraction of the group that each session held, times the time since its run began. */
  readonly lost: number
}

export interface OnAgent {
  /** The agent including the sessions that this pass has placed there. */
  readonly agentNow: AgentSnapshot
  /** All sessions there that may release slots. */
  readonly holding: readonly HoldingSession[]
  /** Capacity of the group. */
  readonly capacity: ResourceSlots
  readonly options: FreeCapacityOptions | undefined
}

/** Slots that the sessions of one agent would release together. */
export class Gives {
  /** The sessions that may be stopped. */
  readonly candidates: readonly HoldingSession[]
  readonly #most: ResourceSlots

  constructor(holding: readonly HoldingSession[], may: (one: HoldingSession) => boolean) {
    this.candidates = holding.filter(may)
    this.#most = holding
      .filter(one => one.state === 'leaving' || may(one))
      .reduce<ResourceSlots>((sum, { slots }) => addSlots(sum, slots), {})
  }

  /** False if the sums alone are too small. Called for every agent and every kind of request, so it allocates nothing. */
  couldMake(
    freeCapacity: FreeCapacity,
    { cpu = 0, mem = 0, 'cuda.device': devices = 0, 'cuda.shares': shares = 0 }: ResourceSlots,
  ): boolean {
    const most = this.#most
    return (
      cpu <= freeCapacity.free('cpu') + (most.cpu ?? 0) &&
      mem <= freeCapacity.free('mem') + (most.mem ?? 0) &&
      devices <= freeCapacity.free('cuda.device') + (most['cuda.device'] ?? 0) &&
      shares <= freeCapacity.free('cuda.shares') + (most['cuda.shares'] ?? 0)
    )
  }
}

/** Largest number of sets of sessions tried on one agent; a longer search ends with a set that is small, if not the smallest. */
const MOST_TRIED = 2_000

/** Whether the session may be stopped for one of this priority. */
export function mayStop(
  { state, priority, ranMs }: HoldingSession,
  of: number,
  { minRunMs }: InterruptionRules,
): boolean {
  return state === 'may' && priority < of && ranMs >= minRunMs
}

/**
 * Chooses the sessions to stop on one agent so that the session fits there: as few as possible, and among sets of equal size the one that
 * loses the least work; ties go to the first ids. No session of the set is dispensable. Slots of leaving sessions count as free. Pure.
 *
 * @param most size of the largest useful set
 * @returns an empty set if the session fits without any of them, undefined if it does not fit with all of them
 */
export function chooseVictims(
  session: PendingSession,
  candidates: readonly HoldingSession[],
  agent: OnAgent,
  most = Infinity,
): Victims | undefined {
  const leaving = agent.holding.filter(({ state }) => state === 'leaving')
  const lostBy = ({ slots, ranMs }: HoldingSession) => partsOf(slots, agent.capacity) * ranMs
  const cheapest = candidates
    .map(one => ({ one, lost: lostBy(one) }))
    .toSorted((a, b) => a.lost - b.lost || (a.one.id < b.one.id ? -1 : 1))
    .map(({ one }) => one)
  const fitsWithout = (victims: readonly HoldingSession[]) => {
    const freeCapacity = without(agent, [...leaving, ...victims])
    return fits(freeCapacity, session) ? freeCapacity : undefined
  }
  const total = totalOf(session)
  const found = smallest(cheapest, most, {
    // A cheap test that rules out most sets, because the sums alone are too small.
    mayFit: victims => hasEnough(agent.agentNow, [...leaving, ...victims], total),
    isEnough: victims => fitsWithout(victims) !== undefined,
    costOf: victims => victims.reduce((sum, one) => sum + lostBy(one), 0),
  })
  const freeCapacity = found && fitsWithout(found)
  if (!freeCapacity) return undefined
  const { requested, gpu, clusterSize = 1 } = session
  const devices = Array.from({ length: clusterSize }, () => freeCapacity.take(requested, false, gpu)).flat()
  return {
    sessions: found.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    devices,
    lost: found.reduce((sum, one) => sum + lostBy(one), 0),
  }
}

interface Test {
  readonly mayFit: (victims: readonly HoldingSession[]) => boolean
  readonly isEnough: (victims: readonly HoldingSession[]) => boolean
  readonly costOf: (victims: readonly HoldingSession[]) => number
}

/** @param candidates the cheapest first */
function smallest(
  candidates: readonly HoldingSession[],
  most: number,
  { mayFit, isEnough, costOf }: Test,
): readonly HoldingSession[] | undefined {
  if (!mayFit(candidates) || !isEnough(candidates)) return undefined
  let tried = 0
  for (let size = 0; size <= Math.min(most, candidates.length); size++) {
    let best: { set: readonly HoldingSession[]; cost: number } | undefined
    for (const set of subsets(candidates, size)) {
      if (++tried > MOST_TRIED) return best?.set ?? sparing(candidates, isEnough, most)
      if (!mayFit(set)) continue
      const cost = costOf(set)
      if (best && cost >= best.cost) continue
      if (isEnough(set)) best = { set, cost }
    }
    if (best) return best.set
  }
  return undefined
}

/** Starts with all candidates, then removes each that is not needed, the most expensive first. */
function sparing(
  candidates: readonly HoldingSession[],
  isEnough: Test['isEnough'],
  most: number,
): readonly HoldingSession[] | undefined {
  let set = candidates
  for (const one of candidates.toReversed()) {
    const rest = set.filter(other => other !== one)
    if (isEnough(rest)) set = rest
  }
  return set.length <= most ? set : undefined
}

/** All subsets of this size, in the order of the items. */
function* subsets<T>(items: readonly T[], size: number, from = 0): Generator<readonly T[]> {
  if (size === 0) {
    yield []
    return
  }
  for (let at = from; at + size <= items.length; at++) {
    for (const rest of subsets(items, size - 1, at + 1)) yield [items[at] as T, ...rest]
  }
}

function hasEnough(
  { capacity, occupied }: AgentSnapshot,
  gone: readonly HoldingSession[],
  total: ResourceSlots,
): boolean {
  return SLOT_NAMES.every(slot => {
    const needed = total[slot] ?? 0
    if (needed === 0) return true
    const freed = gone.reduce((sum, { slots }) => sum + (slots[slot] ?? 0), 0)
    return needed <= (capacity[slot] ?? 0) - (occupied[slot] ?? 0) + freed
  })
}

/** The free capacity of the agent as if these sessions had ended. */
function without({ agentNow, options }: OnAgent, gone: readonly HoldingSession[]): FreeCapacity {
  const given = gone.flatMap(({ devices }) => devices)
  const on = (uuid: string) => given.reduce((sum, device) => sum + (device.uuid === uuid ? device.amount : 0), 0)
  return new FreeCapacity(
    {
      ...agentNow,
      occupied: gone.reduce<ResourceSlots>((left, { slots }) => subtractSlots(left, slots), agentNow.occupied),
      devices: agentNow.devices.map(device => ({ ...device, occupied: device.occupied - on(device.uuid) })),
    },
    'now',
    options,
  )
}

/** Reason for the session for which others are interrupted. @param victims number of sessions that are still to be stopped */
export function interruptingReason(host: string, victims: number, at: number): Reason {
  if (victims === 0) {
    return reasonOf('interrupting', because('room_is_made', { host }))
  }
  const when = new Date(at).toISOString()
  const why = because('others_interrupted', { count: victims, host, time: when })
  return reasonOf('interrupting', why, { interrupts: { sessions: victims, at: when } })
}
