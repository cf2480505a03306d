import { type GpuKind, type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { gpusOf, partsOf } from './amounts.ts'
import { DEVICE_SLOTS, type DeviceSlot } from './device-slot.ts'
import { type GpuNeed, kindKey, mayGive } from './gpu-need.ts'
import { type AgentSnapshot, type DeviceAllocation, type Reservation } from './snapshot.ts'
import { spreadShares } from './spread-shares.ts'

/** Shares of one physical GPU. */
export const SHARES = 100

interface FreeDevice {
  readonly uuid: string
  readonly kind: GpuKind | undefined
  /** Key of the kind; empty if the kind is unknown. */
  readonly kindKey: string
  readonly total: number
  free: number
  /** True if held for the reservation's session: only sessions that may use held capacity get it. */
  held: boolean
}

interface Choice {
  readonly device: FreeDevice
  readonly part: number
}

export interface FreeCapacityOptions {
  /** See `PlanOptions`. */
  readonly splitShares?: boolean | undefined
}

/**
 * Free capacity of one agent while a plan is being made. Mutable, so it never leaves planning.
 *
 * `fits` and `free` run for every agent and every request: they name the slots instead of looping over them, and
 * allocate nothing.
 */
export class FreeCapacity {
  readonly agent: AgentSnapshot
  /** Slots that this agent has: the fewer, the better for a request that does not need the others. */
  readonly kinds: readonly SlotName[]
  /** CPU and RAM capacity of the agent, at least 1 each, so that they can be divided by. */
  readonly cpu: number
  readonly mem: number
  /** GPU capacity in hundredths. */
  readonly gpus: number
  /** Grows with every change. */
  version = 0
  /** See `AgentSnapshot`. */
  turn: number
  readonly #free: Record<SlotName, number>
  readonly #devices: Readonly<Record<DeviceSlot, readonly FreeDevice[]>>
  readonly #splitShares: boolean
  /** Request of the session for which capacity is held here; undefined if nothing is held. */
  #hold: ResourceSlots | undefined
  /** Whether sessions that return held capacity in time may use it. */
  #lends = true
  /** Largest free part of a shared GPU that is already partly in use. */
  #largestPart = 0
  #figures: FreeCapacityStats | undefined
  readonly #capacityKey: string
  #equivalenceKey = ''
  #equivalenceKeyAt = -1
  #image = ''
  #holdsImage = false

  constructor(
    agent: AgentSnapshot,
    occupancy: 'now' | 'empty' = 'now',
    { splitShares = false }: FreeCapacityOptions = {},
  ) {
    this.agent = agent
    this.turn = agent.turn ?? 0
    this.#splitShares = splitShares
    const empty = occupancy === 'empty'
    const devices: Record<DeviceSlot, FreeDevice[]> = { 'cuda.device': [], 'cuda.shares': [] }
    for (const { uuid, slot, total, occupied, kind } of agent.devices) {
      const free = empty ? total : Math.max(0, total - occupied)
      devices[slot].push({ uuid, kind, kindKey: kind ? kindKey(kind) : '', total, free, held: false })
    }
    for (const slot of DEVICE_SLOTS) devices[slot].sort((a, b) => (a.uuid < b.uuid ? -1 : 1))
    this.#devices = devices
    this.#free = { cpu: 0, mem: 0, 'cuda.device': 0, 'cuda.shares': 0 }
    for (const slot of SLOT_NAMES) {
      const free = Math.max(0, (agent.capacity[slot] ?? 0) - (empty ? 0 : (agent.occupied[slot] ?? 0)))
      this.#free[slot] = isDeviceSlot(slot) ? Math.min(free, usable(slot, this.#devices[slot])) : free
    }
    this.#largestPart = largestPart(this.#devices['cuda.shares'])
    const { cpu = 0, mem = 0 } = agent.capacity
    this.cpu = Math.max(1, cpu)
    this.mem = Math.max(1, mem)
    this.gpus = gpusOf(agent.capacity)
    this.kinds = SLOT_NAMES.filter(slot => (agent.capacity[slot] ?? 0) > 0)
    const { 'cuda.device': whole = 0, 'cuda.shares': shares = 0 } = agent.capacity
    this.#capacityKey = `${cpu} ${mem} ${whole} ${shares}`
  }

  /**
   * Equal for free capacities that are equivalent for every request: same capacity and same free amounts, in the same parts, on devices of
   * the same kinds. With held capacity the key is unique. Images, turn and id are not part of it.
   */
  get equivalenceKey(): string {
    if (this.#equivalenceKeyAt !== this.version) {
      this.#equivalenceKeyAt = this.version
      const { cpu, mem, 'cuda.device': devices, 'cuda.shares': shares } = this.#free
      const held = this.#hold === undefined ? '' : this.agent.id
      this.#equivalenceKey = `${this.#capacityKey}|${cpu} ${mem} ${devices} ${shares}|${wholesLeft(this.#devices['cuda.device'])}|${partsLeft(this.#devices['cuda.shares'])}|${held}`
    }
    return this.#equivalenceKey
  }

  /** @param useHeld whether capacity held for the reservation counts as free */
  free(slot: SlotName, useHeld = false): number {
    return this.#isOpen(useHeld) || this.#hold === undefined ? this.#free[slot] : this.#notHeld(slot, this.#hold)
  }

  /** Like `free`, but counts only devices that meet the need. */
  freeFor(slot: SlotName, need: GpuNeed | undefined, useHeld = false): number {
    const free = this.free(slot, useHeld)
    if (need === undefined || !isDeviceSlot(slot) || free === 0) return free
    return Math.min(free, usable(slot, this.#open(slot, useHeld, need)))
  }

  /** Whether the agent has the image. The last answer is cached, because consecutive calls usually ask for the same image. */
  holds(digest: string): boolean {
    if (digest !== this.#image) {
      this.#image = digest
      this.#holdsImage = this.agent.images.has(digest)
    }
    return this.#holdsImage
  }

  /** Figures that selectors use for ranking, computed once per change. @param capacity of the group, constant during a plan */
  figures(capacity: ResourceSlots): FreeCapacityStats {
    const known = this.#figures
    if (known?.version === this.version) return known
    const slots = SLOT_NAMES.map(slot => [slot, this.free(slot)] as const)
    const free: ResourceSlots = Object.fromEntries(slots)
    const { cpu = 0, mem = 0 } = free
    const freeGpus = gpusOf(free)
    const lonely = this.gpus === 0 ? 0 : freeGpus / this.gpus - Math.min(cpu / this.cpu, mem / this.mem)
    const figures: FreeCapacityStats = {
      version: this.version,
      freeCpu: cpu,
      freeMem: mem,
      freeGpus,
      stranded: Math.max(0, lonely),
      left: partsOf(free, capacity),
    }
    this.#figures = figures
    return figures
  }

  /** Largest single request for this slot that would fit. For shares: whole devices plus the largest free part of one more. */
  largest(slot: SlotName, need?: GpuNeed): number {
    const free = this.freeFor(slot, need)
    if (slot !== 'cuda.shares' || this.#splitShares) return free
    const devices = this.#open(slot, false, need)
    let whole = 0
    for (const device of devices) if (device.free === device.total) whole += device.free
    return Math.min(free, whole + largestPart(devices))
  }

  /** The slots because of which this request cannot be placed here. @param kernels number of kernels, each with these slots */
  lacking(requested: ResourceSlots, kernels = 1, need?: GpuNeed): SlotName[] {
    return SLOT_NAMES.filter(slot => this.lacks(slot, requested[slot], kernels, need))
  }

  /** Whether this amount of the slot for each of the kernels is too much for this free capacity. */
  lacks(slot: SlotName, amount = 0, kernels = 1, need?: GpuNeed): boolean {
    if (amount === 0) return false
    if (amount * kernels > this.freeFor(slot, need)) return true
    return slot === 'cuda.shares' && !this.#fitsShares(amount, false, kernels, need)
  }

  /**
   * @param kernels number of kernels, each with these slots and its own devices; all of them fit, or none
   * @param need the devices that the request accepts; any if left out
   */
  fits(requested: ResourceSlots, useHeld = false, kernels = 1, need?: GpuNeed): boolean {
    const free = this.#free
    const { cpu = 0, mem = 0, 'cuda.device': devices = 0, 'cuda.shares': shares = 0 } = requested
    if (cpu * kernels > free.cpu || mem * kernels > free.mem) return false
    if (devices * kernels > free['cuda.device'] || shares * kernels > free['cuda.shares']) return false
    if (!this.#isOpen(useHeld) && !this.#fitsBesideHeld(requested, kernels)) return false
    if (need !== undefined) {
      if (devices * kernels > this.freeFor('cuda.device', need, useHeld)) return false
      if (shares * kernels > this.freeFor('cuda.shares', need, useHeld)) return false
    }
    return shares === 0 || this.#fitsShares(shares, useHeld, kernels, need)
  }

  /** Whether the request's part of a GPU would use a GPU that was unused until then. Call only if the request fits. */
  opensDevice(requested: ResourceSlots, need?: GpuNeed): boolean {
    const part = (requested['cuda.shares'] ?? 0) % SHARES
    if (part === 0) return false
    return part > (need ? largestPart(this.#open('cuda.shares', true, need)) : this.#largestPart)
  }

  /** Takes the slots of one kernel and picks devices. Call only if `fits` returned true for the same need. */
  take(requested: ResourceSlots, useHeld = false, need?: GpuNeed): DeviceAllocation[] {
    const taken: DeviceAllocation[] = []
    for (const slot of SLOT_NAMES) {
      const amount = requested[slot] ?? 0
      if (amount === 0) continue
      this.#free[slot] -= amount
      if (!isDeviceSlot(slot)) continue
      taken.push(...this.#pick(slot, amount, useHeld, need))
      this.#free[slot] = Math.min(this.#free[slot], usable(slot, this.#devices[slot]))
      if (slot === 'cuda.shares') this.#largestPart = largestPart(this.#devices[slot])
    }
    this.version++
    return taken
  }

  /** Whether capacity is held here. */
  get isHeld(): boolean {
    return this.#hold !== undefined
  }

  /**
   * From now on only sessions that may use held capacity get these amounts and devices. @param lends false: nobody gets them until
   * `release`
   */
  hold({ devices }: Pick<Reservation, 'devices'>, requested: ResourceSlots, lends = true): void {
    this.#hold = requested
    this.#lends = lends
    const held = new Set(devices.map(device => device.uuid))
    for (const slot of DEVICE_SLOTS) for (const device of this.#devices[slot]) device.held = held.has(device.uuid)
    this.version++
  }

  /** Ends the holding of capacity. */
  release(): void {
    this.#hold = undefined
    for (const slot of DEVICE_SLOTS) for (const device of this.#devices[slot]) device.held = false
    this.version++
  }

  /** Whether a session with this permission may use everything that is free here. */
  #isOpen(useHeld: boolean): boolean {
    return this.#hold === undefined || (useHeld && this.#lends)
  }

  #notHeld(slot: SlotName, hold: ResourceSlots): number {
    const free = this.#free[slot]
    if (!isDeviceSlot(slot)) return Math.max(0, free - (hold[slot] ?? 0))
    return Math.min(free, usable(slot, this.#open(slot, false)))
  }

  #fitsBesideHeld(requested: ResourceSlots, kernels: number): boolean {
    return SLOT_NAMES.every(slot => {
      const amount = (requested[slot] ?? 0) * kernels
      return amount === 0 || amount <= this.free(slot)
    })
  }

  #open(slot: DeviceSlot, useHeld: boolean, need?: GpuNeed): readonly FreeDevice[] {
    const devices = this.#devices[slot]
    const isOpen = this.#isOpen(useHeld)
    if (isOpen && need === undefined) return devices
    return devices.filter(device => (isOpen || !device.held) && isUsable(device, need))
  }

  /** Whether `#choose` would succeed for each kernel in turn, by counting. The caller has checked that the sum is enough. */
  #fitsShares(amount: number, useHeld: boolean, kernels: number, need: GpuNeed | undefined): boolean {
    if (this.#splitShares) return true
    const whole = Math.floor(amount / SHARES)
    const part = amount % SHARES
    let full = 0
    let parts = 0
    for (const device of this.#devices['cuda.shares']) {
      const { free, total, held } = device
      if ((held && !this.#isOpen(useHeld)) || !isUsable(device, need)) continue
      if (free === total) full++
      else if (part > 0) parts += Math.floor(free / part)
    }
    const missing = part === 0 ? 0 : Math.max(0, kernels - parts)
    const broken = missing === 0 ? 0 : Math.ceil(missing / Math.floor(SHARES / part))
    return full >= whole * kernels + broken
  }

  #pick(slot: DeviceSlot, amount: number, useHeld: boolean, need: GpuNeed | undefined): DeviceAllocation[] {
    const chosen = this.#choose(slot, amount, this.#open(slot, useHeld, need))
    if (!chosen) throw new Error(`take() without free capacity for ${amount} ${slot} on ${this.agent.id}`)
    return chosen.map(({ device, part }) => {
      device.free -= part
      return { uuid: device.uuid, slot, amount: part }
    })
  }

  /** Chooses whole devices first, then the remainder on the single device where it leaves the least. */
  #choose(slot: DeviceSlot, amount: number, devices: readonly FreeDevice[]): Choice[] | undefined {
    const chosen: Choice[] = []
    let rest = amount
    for (const device of devices) {
      if (device.total === 0 || device.free !== device.total || device.total > rest) continue
      chosen.push({ device, part: device.total })
      rest -= device.total
    }
    if (rest === 0) return chosen
    if (slot === 'cuda.device') return undefined
    const used = new Set(chosen.map(choice => choice.device))
    let best: FreeDevice | undefined
    for (const device of devices) {
      if (used.has(device) || device.free < rest) continue
      if (!best || device.free < best.free) best = device
    }
    if (best) return [...chosen, { device: best, part: rest }]
    return this.#splitShares ? spread(devices, used, chosen, rest) : undefined
  }
}

export interface FreeCapacityStats {
  readonly version: number
  readonly freeCpu: number
  readonly freeMem: number
  /** Free GPUs in hundredths. */
  readonly freeGpus: number
  /** Fraction of the agent's GPUs that is free but lacks the CPU and RAM to use it. */
  readonly stranded: number
  /** Sum of the free amounts of all slots, each as a fraction of the group's capacity. */
  readonly left: number
}

function spread(
  devices: readonly FreeDevice[],
  used: ReadonlySet<FreeDevice>,
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

/** Sum of the free amounts; a partly used `cuda.device` counts as 0, because it is given out whole. */
function usable(slot: DeviceSlot, devices: readonly FreeDevice[]): number {
  let total = 0
  for (const { free, total: all } of devices) if (slot === 'cuda.shares' || free === all) total += free
  return total
}

/** Whether a request that needs such devices may get this one. */
const isUsable = ({ kind, kindKey }: FreeDevice, need: GpuNeed | undefined): boolean => mayGive(need, kind, kindKey)

/** Number of free whole devices of each kind. For a single kind only its key, because the free amount gives the number. */
function wholesLeft(devices: readonly FreeDevice[]): string {
  const [first] = devices
  if (!first || devices.every(device => device.kindKey === first.kindKey)) return first?.kindKey ?? ''
  const free = new Map<string, number>()
  for (const device of devices) {
    free.set(device.kindKey, (free.get(device.kindKey) ?? 0) + (device.free === device.total ? 1 : 0))
  }
  return [...free]
    .map(([kind, count]) => `${count} ${kind}`)
    .toSorted()
    .join(';')
}

/** Free amount on each device, sorted: which device has it does not matter. */
function partsLeft(devices: readonly FreeDevice[]): string {
  return devices.length === 0
    ? ''
    : devices
        .map(({ free, total, kindKey }) => `${free}/${total} ${kindKey}`)
        .toSorted()
        .join(' ')
}

function largestPart(devices: readonly FreeDevice[]): number {
  let most = 0
  for (const { free, total } of devices) if (free < total && free > most) most = free
  return most
}
