import { type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { type AgentSnapshot, type DeviceAllocation, type DeviceSlot, type Reservation } from './snapshot.ts'
import { spreadShares } from './spread-shares.ts'

const DEVICE_SLOTS: readonly DeviceSlot[] = ['cuda.device', 'cuda.shares']

interface DeviceRoom {
  readonly uuid: string
  readonly total: number
  free: number
  /** For the session of the reservation: only who may use held capacity gets it. */
  held: boolean
}

interface Choice {
  readonly device: DeviceRoom
  readonly part: number
}

export interface RoomOptions {
  /** See `PlanOptions`. */
  readonly splitShares?: boolean | undefined
}

/** What is still free on one agent while a plan is being made. The only mutable thing in planning; never leaves it. */
export class Room {
  readonly agent: AgentSnapshot
  /** Slots that this agent has at all: fewer is better for a request that does not ask for the others. */
  readonly kinds: readonly SlotName[]
  /** Grows with every change. */
  version = 0
  /** See `AgentSnapshot`. */
  turn: number
  readonly #free: Record<SlotName, number>
  readonly #devices: Readonly<Record<DeviceSlot, readonly DeviceRoom[]>>
  readonly #splitShares: boolean
  /** What the session of the reservation has asked for. */
  #hold: ResourceSlots | undefined

  constructor(agent: AgentSnapshot, occupancy: 'now' | 'empty' = 'now', { splitShares = false }: RoomOptions = {}) {
    this.agent = agent
    this.turn = agent.turn ?? 0
    this.#splitShares = splitShares
    const empty = occupancy === 'empty'
    const devices = (slot: DeviceSlot) =>
      agent.devices
        .filter(device => device.slot === slot)
        .map(({ uuid, total, occupied }) => {
          return { uuid, total, free: empty ? total : Math.max(0, total - occupied), held: false }
        })
        .toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))
    this.#devices = { 'cuda.device': devices('cuda.device'), 'cuda.shares': devices('cuda.shares') }
    this.#free = { cpu: 0, mem: 0, 'cuda.device': 0, 'cuda.shares': 0 }
    for (const slot of SLOT_NAMES) {
      const free = Math.max(0, (agent.capacity[slot] ?? 0) - (empty ? 0 : (agent.occupied[slot] ?? 0)))
      this.#free[slot] = isDeviceSlot(slot) ? Math.min(free, usable(slot, this.#devices[slot])) : free
    }
    this.kinds = SLOT_NAMES.filter(slot => (agent.capacity[slot] ?? 0) > 0)
  }

  /** @param useHeld whether what is held for the reservation counts as free */
  free(slot: SlotName, useHeld = false): number {
    const free = this.#free[slot]
    const hold = this.#hold
    if (hold === undefined || useHeld) return free
    if (!isDeviceSlot(slot)) return Math.max(0, free - (hold[slot] ?? 0))
    return Math.min(free, usable(slot, this.#open(slot, false)))
  }

  /** Largest single request for this slot that would fit. For shares, whole devices plus the best part of one more. */
  largest(slot: SlotName): number {
    if (slot !== 'cuda.shares' || this.#splitShares) return this.free(slot)
    const devices = this.#open(slot, false)
    const whole = sum(devices.filter(device => device.free === device.total).map(device => device.free))
    const part = Math.max(0, ...devices.filter(device => device.free < device.total).map(device => device.free))
    return Math.min(this.free(slot), whole + part)
  }

  /** The slots that keep this request from being placed here. */
  lacking(requested: ResourceSlots): SlotName[] {
    return SLOT_NAMES.filter(slot => !this.#fits(slot, requested[slot] ?? 0, false))
  }

  fits(requested: ResourceSlots, useHeld = false): boolean {
    for (const slot of SLOT_NAMES) if (!this.#fits(slot, requested[slot] ?? 0, useHeld)) return false
    return true
  }

  /** Whether a part of a GPU would break into a whole one here. Only where the request fits. */
  opensDevice(requested: ResourceSlots): boolean {
    const part = (requested['cuda.shares'] ?? 0) % 100
    if (part === 0) return false
    return !this.#devices['cuda.shares'].some(device => device.free < device.total && device.free >= part)
  }

  /** Takes the slots and picks devices. Call only where `fits` said yes. */
  take(requested: ResourceSlots, useHeld = false): DeviceAllocation[] {
    const taken: DeviceAllocation[] = []
    for (const slot of SLOT_NAMES) {
      const amount = requested[slot] ?? 0
      if (amount === 0) continue
      this.#free[slot] -= amount
      if (isDeviceSlot(slot)) taken.push(...this.#pick(slot, amount, useHeld))
    }
    for (const slot of DEVICE_SLOTS) {
      if ((requested[slot] ?? 0) > 0) this.#free[slot] = Math.min(this.#free[slot], usable(slot, this.#devices[slot]))
    }
    this.version++
    return taken
  }

  /** From now on only who may use held capacity gets these amounts and devices. */
  hold({ devices }: Reservation, requested: ResourceSlots): void {
    this.#hold = requested
    const held = new Set(devices.map(device => device.uuid))
    for (const slot of DEVICE_SLOTS) for (const device of this.#devices[slot]) device.held = held.has(device.uuid)
    this.version++
  }

  #open(slot: DeviceSlot, useHeld: boolean): readonly DeviceRoom[] {
    const devices = this.#devices[slot]
    return this.#hold === undefined || useHeld ? devices : devices.filter(device => !device.held)
  }

  #fits(slot: SlotName, amount: number, useHeld: boolean): boolean {
    if (amount === 0) return true
    if (amount > this.#free[slot]) return false
    if (this.#hold !== undefined && amount > this.free(slot, useHeld)) return false
    return slot !== 'cuda.shares' || this.#choose(slot, amount, useHeld) !== undefined
  }

  #pick(slot: DeviceSlot, amount: number, useHeld: boolean): DeviceAllocation[] {
    const chosen = this.#choose(slot, amount, useHeld)
    if (!chosen) throw new Error(`take() without room for ${amount} ${slot} on ${this.agent.id}`)
    return chosen.map(({ device, part }) => {
      device.free -= part
      return { uuid: device.uuid, slot, amount: part }
    })
  }

  /** Whole devices first, then the remainder on the single device where it leaves the least. */
  #choose(slot: DeviceSlot, amount: number, useHeld: boolean): Choice[] | undefined {
    const chosen: Choice[] = []
    const devices = this.#open(slot, useHeld)
    let rest = amount
    for (const device of devices) {
      if (device.total === 0 || device.free !== device.total || device.total > rest) continue
      chosen.push({ device, part: device.total })
      rest -= device.total
    }
    if (rest === 0) return chosen
    if (slot === 'cuda.device') return undefined
    const used = new Set(chosen.map(choice => choice.device))
    let best: DeviceRoom | undefined
    for (const device of devices) {
      if (used.has(device) || device.free < rest) continue
      if (!best || device.free < best.free) best = device
    }
    if (best) return [...chosen, { device: best, part: rest }]
    return this.#splitShares ? spread(devices, used, chosen, rest) : undefined
  }
}

function spread(
  devices: readonly DeviceRoom[],
  used: ReadonlySet<DeviceRoom>,
  chosen: readonly Choice[],
  rest: number,
): Choice[] | undefined {
  const others = devices.filter(device => !used.has(device))
  const parts = spreadShares(
    others.map(device => device.free),
    rest,
  )
  const more = parts && others.map((device, at) => ({ device, part: parts[at] ?? 0 })).filter(({ part }) => part > 0)
  return more && [...chosen, ...more]
}

export function isDeviceSlot(slot: SlotName): slot is DeviceSlot {
  return slot === 'cuda.device' || slot === 'cuda.shares'
}

/** A whole device with anything on it is not there for anyone else. */
function usable(slot: DeviceSlot, devices: readonly DeviceRoom[]): number {
  let total = 0
  for (const { free, total: all } of devices) if (slot === 'cuda.shares' || free === all) total += free
  return total
}

function sum(numbers: readonly number[]): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
