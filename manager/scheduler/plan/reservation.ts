import {
  type AgentId,
  because,
  formatSlots,
  type Reason,
  reasonOf,
  type ResourceSlots,
  type SlotName,
  together,
} from '#manager/contract'
import { fits } from './agent-capacities.ts'
import { readableOf } from './amounts.ts'
import { DEVICE_SLOTS } from './device-slot.ts'
import { type FreeCapacity, isDeviceSlot, SHARES } from './free-capacity.ts'
import { mostKernels } from './gang.ts'
import { mayGive, type GpuNeed } from './gpu-need.ts'
import {
  type AgentSnapshot,
  type DeviceAllocation,
  type DeviceSlot,
  type DeviceSnapshot,
  type PendingSession,
  type Reservation,
  totalOf,
} from './snapshot.ts'

/**
 * An agent that may be reserved. A group has at most one reservation (EASY backfill with named devices). Capacity that becomes free on the
 * reserved agent is held. Other sessions may use held capacity only if they certainly release it before the reserved session can start. If
 * that start depends on a kernel without a known end, it is unknown, and no other session gets held capacity.
 */
export interface Candidate {
  /** The agent including the sessions that this pass has placed there. */
  readonly agentNow: AgentSnapshot
  readonly empty: FreeCapacity
}

/** Reserves the agent on which the session can start first; if no start is known, the one that lacks the least. */
export function reserve(session: PendingSession, candidates: readonly Candidate[]): Reservation | undefined {
  let best: { reservation: Reservation; start: number; lack: number } | undefined
  for (const { agentNow: agent, empty } of candidates) {
    if (!fits(empty, session)) continue
    const devices = chooseDevices(agent, session)
    const reservation = { sessionId: session.id, agentId: agent.id, devices }
    const total = totalOf(session)
    const start = startOf(reservation, agent, total)
    const lack = lackOf(agent, total, session.gpu)
    if (best && !precedes({ start, lack, id: agent.id }, { ...best, id: best.reservation.agentId })) continue
    best = { reservation, start, lack }
  }
  return best?.reservation
}

/**
 * Reserves the agents of a session that no single agent could hold: for each of its kernels in turn the one on which it can start first; if
 * no start is known, the one that lacks the least. @param candidates agents between which a network of the session can exist
 */
export function reserveGang(session: PendingSession, candidates: readonly Candidate[]): Reservation | undefined {
  const { clusterSize = 1 } = session
  const able = candidates.flatMap(candidate => {
    const most = mostKernels(candidate.empty, session)
    return most === 0
      ? []
      : [{ candidate, most, taken: undefined as Step | undefined, next: stepOf(candidate, session, 1) }]
  })
  for (let placed = 0; placed < clusterSize; placed++) {
    let best: (typeof able)[number] | undefined
    for (const one of able) {
      if ((one.taken?.kernels ?? 0) < one.most && (!best || precedes(one.next, best.next))) best = one
    }
    if (!best) return undefined
    best.taken = best.next
    best.next = stepOf(best.candidate, session, best.taken.kernels + 1)
  }
  const parts = able.flatMap(({ taken }) =>
    taken ? [{ agentId: taken.id, kernels: taken.kernels, devices: taken.devices }] : [],
  )
  const [first] = parts
  if (!first) return undefined
  return { sessionId: session.id, agentId: first.agentId, devices: parts.flatMap(part => part.devices), parts }
}

/** The start of a number of kernels on one agent. */
interface Step extends Precedence {
  readonly id: AgentId
  readonly kernels: number
  readonly devices: readonly DeviceAllocation[]
}

function stepOf({ agentNow: agent }: Candidate, session: PendingSession, kernels: number): Step {
  const part = { ...session, clusterSize: kernels }
  const devices = chooseDevices(agent, part)
  const total = totalOf(part)
  return {
    start: startOf({ devices }, agent, total),
    lack: lackOf(agent, total, session.gpu),
    id: agent.id,
    kernels,
    devices,
  }
}

function precedes(a: Precedence, b: Precedence): boolean {
  if (a.start !== b.start) return a.start < b.start
  if (a.lack !== b.lack) return a.lack < b.lack
  return a.id < b.id
}

interface Precedence {
  readonly start: number
  readonly lack: number
  readonly id: string
}

/** Latest time (ms since the epoch) at which all reserved capacity is free, judged now; 0 if free now, Infinity if unknown. */
export function startOf(
  { devices }: Pick<Reservation, 'devices'>,
  agent: AgentSnapshot,
  requested: ResourceSlots,
): number {
  const ends = (['cpu', 'mem'] as const).map(slot => freeAt(agent, slot, requested[slot] ?? 0))
  const known = new Map(agent.devices.map(device => [device.uuid, device]))
  for (const { uuid, amount } of devices) {
    const device = known.get(uuid)
    ends.push(device ? deviceFreeAt(agent, device, amount) : Infinity)
  }
  return Math.max(0, ...ends)
}

/** Chooses the devices that become free first, whole ones before a part of one, for each kernel in turn. */
function chooseDevices(agent: AgentSnapshot, { requested, gpu, clusterSize = 1 }: PendingSession): DeviceAllocation[] {
  const chosen: DeviceAllocation[] = []
  const choosable = { ...agent, devices: devicesFor(agent, gpu) }
  for (const slot of DEVICE_SLOTS) {
    const used = new Map<string, number>()
    for (let kernel = 0; kernel < clusterSize; kernel++) {
      let rest = requested[slot] ?? 0
      while (rest > 0) {
        const part = Math.min(rest, slot === 'cuda.device' ? 1 : SHARES)
        const device = firstFree(choosable, slot, part, used)
        if (!device) break
        used.set(device.uuid, (used.get(device.uuid) ?? 0) + part)
        rest -= part
      }
    }
    for (const [uuid, amount] of used) chosen.push({ uuid, slot, amount })
  }
  return chosen
}

function firstFree(agent: AgentSnapshot, slot: DeviceSlot, part: number, used: ReadonlyMap<string, number>) {
  let best: { device: DeviceSnapshot; at: number } | undefined
  for (const device of agent.devices) {
    const own = used.get(device.uuid) ?? 0
    if (device.slot !== slot || device.total - own < part) continue
    const at = deviceFreeAt(agent, device, own + part)
    if (best && !precedes(rank(device, at), rank(best.device, best.at))) continue
    best = { device, at }
  }
  return best?.device
}

const rank = (device: DeviceSnapshot, at: number): Precedence => ({
  start: at,
  // If times are equal: of free devices take the one with the least left, of devices with an unknown end the least used.
  lack: at === 0 ? -device.occupied : device.occupied,
  id: device.uuid,
})

function freeAt(agent: AgentSnapshot, slot: SlotName, needed: number): number {
  const free = (agent.capacity[slot] ?? 0) - (agent.occupied[slot] ?? 0)
  const releases = (agent.occupants ?? []).map(({ slots, latestEnd }) => ({ at: latestEnd, amount: slots[slot] ?? 0 }))
  return earliest(free, releases, needed)
}

function deviceFreeAt(agent: AgentSnapshot, device: DeviceSnapshot, needed: number): number {
  const releases = (agent.occupants ?? []).flatMap(({ devices, latestEnd }) =>
    devices.filter(({ uuid }) => uuid === device.uuid).map(({ amount }) => ({ at: latestEnd, amount })),
  )
  return earliest(device.total - device.occupied, releases, needed)
}

/** Time at which `needed` is free: 0 if it is free now, Infinity if unknown. */
function earliest(free: number, releases: readonly { at: number | null; amount: number }[], needed: number): number {
  if (free >= needed) return 0
  const known = releases.flatMap(({ at, amount }) => (at === null ? [] : [{ at, amount }]))
  let sum = free
  for (const { at, amount } of known.toSorted((a, b) => a.at - b.at)) {
    sum += amount
    if (sum >= needed) return at
  }
  return Infinity
}

/** Sum of the amounts that are missing now, each as a fraction of the agent's capacity. */
function lackOf(agent: AgentSnapshot, requested: ResourceSlots, gpu: GpuNeed | undefined): number {
  let lack = 0
  for (const [slot, missing] of missingOn(agent, requested, gpu)) lack += missing / (agent.capacity[slot] ?? 1)
  return lack
}

function missingOn(agent: AgentSnapshot, requested: ResourceSlots, gpu: GpuNeed | undefined): [SlotName, number][] {
  return (Object.entries(requested) as [SlotName, number][]).flatMap(([slot, needed]) => {
    const missing = needed - freeOn(agent, slot, gpu)
    return missing > 0 ? [[slot, missing]] : []
  })
}

/** Free amount of the agent, of devices only those that may be given. */
function freeOn(agent: AgentSnapshot, slot: SlotName, gpu: GpuNeed | undefined): number {
  const free = Math.max(0, (agent.capacity[slot] ?? 0) - (agent.occupied[slot] ?? 0))
  if (gpu === undefined || !isDeviceSlot(slot)) return free
  const devices = devicesFor(agent, gpu).filter(device => device.slot === slot)
  return Math.min(
    free,
    devices.reduce((sum, { total, occupied }) => sum + Math.max(0, total - occupied), 0),
  )
}

/** Devices of the agent that a session with this need may get. */
function devicesFor({ devices }: AgentSnapshot, gpu: GpuNeed | undefined): readonly DeviceSnapshot[] {
  return gpu === undefined ? devices : devices.filter(({ kind }) => mayGive(gpu, kind))
}

/** Reason for the session that has the reservation. Names a start time only if it is known. */
export function reservedReason(
  agent: AgentSnapshot,
  { requested, gpu }: { readonly requested: ResourceSlots } & Pick<PendingSession, 'gpu'>,
  start: number,
): Reason {
  const { name: host } = agent
  const held = because('reserved_on_host', { host })
  if (!agent.connected) return reasonOf('reserved', together(held, because('start_unknown_away', { host })))
  const missing = missingOn(agent, requested, gpu)
  const amounts = missing.map(([slot, amount]) => readableOf(slot, amount, gpu)).join(', ')
  const slots = missing.map(([slot]) => slot)
  const needed = formatSlots(Object.fromEntries(slots.map(slot => [slot, requested[slot] ?? 0])))
  const available = formatSlots(Object.fromEntries(slots.map(slot => [slot, freeOn(agent, slot, gpu)])))
  const amountsOf = slots.length > 0 ? { needed, available } : {}
  // No slot is missing: enough is free in total, but not on one device.
  const ofDevice = slots.length === 0
  if (!Number.isFinite(start) || start === 0) {
    const unknown = ofDevice
      ? because('start_unknown_device', { host })
      : because('start_unknown_amounts', { amounts, host })
    return reasonOf('reserved', together(held, unknown), amountsOf)
  }
  const time = new Date(start).toISOString()
  const latest = ofDevice
    ? because('starts_by_device', { time, host })
    : because('starts_by_amounts', { time, amounts, host })
  return reasonOf('reserved', together(held, latest), { expectedBy: time, ...amountsOf })
}

/** The same for a session whose reservation is on several agents. @param room number of its kernels for which they have room now */
export function reservedGangReason(
  agents: readonly AgentSnapshot[],
  { room, needed }: { readonly room: number; readonly needed: number },
  start: number,
): Reason {
  const held = because('reserved_on_hosts', { hosts: agents.map(({ name }) => name).join(', '), room, needed })
  const away = agents.find(({ connected }) => !connected)
  if (away) return reasonOf('reserved', together(held, because('start_unknown_away', { host: away.name })))
  if (!Number.isFinite(start) || start === 0) return reasonOf('reserved', together(held, because('start_unknown')))
  const time = new Date(start).toISOString()
  return reasonOf('reserved', together(held, because('starts_by', { time })), { expectedBy: time })
}
