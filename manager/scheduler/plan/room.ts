import { type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { type AgentSnapshot, type DeviceAllocation, type DeviceSlot } from './snapshot.ts'

const DEVICE_SLOTS: readonly DeviceSlot[] = ['cuda.device', 'cuda.shares']

interface DeviceRoom {
  readonly uuid: string
  readonly total: number
  free: number
}

/** What is still free on one agent while a plan is being made. The only mutable thing in planning; never leaves it. */
export class Room {
  readonly agent: AgentSnapshot
  /** Slots that this agent has at all: fewer is better for a request that does not ask for the others. */
  readonly kinds: readonly SlotName[]
  readonly #free: Record<SlotName, number>
  readonly #devices: Readonly<Record<DeviceSlot, readonly DeviceRoom[]>>

  constructor(agent: AgentSnapshot, occupancy: 'now' | 'empty' = 'now') {
    this.agent = agent
    const empty = occupancy === 'empty'
    const devices = (slot: DeviceSlot) =>
      agent.devices
        .filter(device => device.slot === slot)
        .map(({ uuid, total, occupied }) => ({ uuid, total, free: empty ? total : Math.max(0, total - occupied) }))
        .toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1))
    this.#devices = { 'cuda.device': devices('cuda.device'), 'cuda.shares': devices('cuda.shares') }
    this.#free = { cpu: 0, mem: 0, 'cuda.device': 0, 'cuda.shares': 0 }
    for (const slot of SLOT_NAMES) {
      const free = Math.max(0, (agent.capacity[slot] ?? 0) - (empty ? 0 : (agent.occupied[slot] ?? 0)))
      this.#free[slot] = isDeviceSlot(slot) ? Math.min(free, sum(this.#devices[slot].map(usable(slot)))) : free
    }
    this.kinds = SLOT_NAMES.filter(slot => (agent.capacity[slot] ?? 0) > 0)
  }

  free(slot: SlotName): number {
    return this.#free[slot]
  }

  /** Largest single request for this slot that would fit. For shares, whole devices plus the best part of one more. */
  largest(slot: SlotName): number {
    if (slot !== 'cuda.shares') return this.#free[slot]
    const devices = this.#devices[slot]
    const whole = sum(devices.filter(device => device.free === device.total).map(device => device.free))
    const part = Math.max(0, ...devices.filter(device => device.free < device.total).map(device => device.free))
    return Math.min(this.#free[slot], whole + part)
  }

  /** The slots that keep this request from being placed here. */
  lacking(requested: ResourceSlots): SlotName[] {
    return SLOT_NAMES.filter(slot => !this.#fits(slot, requested[slot] ?? 0))
  }

  fits(requested: ResourceSlots): boolean {
    for (const slot of SLOT_NAMES) if (!this.#fits(slot, requested[slot] ?? 0)) return false
    return true
  }

  /** Takes the slots and picks devices. Call only where `fits` said yes. */
  take(requested: ResourceSlots): DeviceAllocation[] {
    const taken: DeviceAllocation[] = []
    for (const slot of SLOT_NAMES) {
      const amount = requested[slot] ?? 0
      if (amount === 0) continue
      this.#free[slot] -= amount
      if (isDeviceSlot(slot)) taken.push(...this.#pick(slot, amount))
    }
    for (const slot of DEVICE_SLOTS) {
      this.#free[slot] = Math.min(this.#free[slot], sum(this.#devices[slot].map(usable(slot))))
    }
    return taken
  }

  #fits(slot: SlotName, amount: number): boolean {
    if (amount === 0) return true
    if (amount > this.#free[slot]) return false
    return slot !== 'cuda.shares' || this.#choose(slot, amount) !== undefined
  }

  #pick(slot: DeviceSlot, amount: number): DeviceAllocation[] {
    const chosen = this.#choose(slot, amount)
    if (!chosen) throw new Error(`take() without room for ${amount} ${slot} on ${this.agent.id}`)
    return chosen.map(({ device, part }) => {
      device.free -= part
      return { uuid: device.uuid, slot, amount: part }
    })
  }

  /** Whole devices first, then the remainder on the single device where it leaves the least. */
  #choose(slot: DeviceSlot, amount: number): { device: DeviceRoom; part: number }[] | undefined {
    const chosen: { device: DeviceRoom; part: number }[] = []
    let rest = amount
    for (const device of this.#devices[slot]) {
      if (device.total === 0 || device.free !== device.total || device.total > rest) continue
      chosen.push({ device, part: device.total })
      rest -= device.total
    }
    if (rest === 0) return chosen
    if (slot === 'cuda.device' || rest >= 100) return undefined
    const used = new Set(chosen.map(choice => choice.device))
    let best: DeviceRoom | undefined
    for (const device of this.#devices[slot]) {
      if (used.has(device) || device.free < rest) continue
      if (!best || device.free < best.free) best = device
    }
    return best && [...chosen, { device: best, part: rest }]
  }
}

export function isDeviceSlot(slot: SlotName): slot is DeviceSlot {
  return slot === 'cuda.device' || slot === 'cuda.shares'
}

/** A whole device with anything on it is not there for anyone else. */
const usable = (slot: DeviceSlot) => (device: DeviceRoom) =>
  slot === 'cuda.device' && device.free < device.total ? 0 : device.free

function sum(numbers: readonly number[]): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}
