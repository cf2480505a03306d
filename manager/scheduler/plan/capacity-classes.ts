import { type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { Heap } from './heap.ts'
import { type FreeCapacity } from './free-capacity.ts'
import { type GpuNeed } from './gpu-need.ts'

/** A free capacity at the time of ranking. Stale once the free capacity has another version: then it belongs to another class. */
export interface RankedCapacity {
  readonly freeCapacity: FreeCapacity
  readonly rank: number
  /** The free capacity's turn; 0 if the selector does not use turns. */
  readonly turn: number
  readonly version: number
  readonly capacityClass: CapacityClass
}

/** Orders ranked free capacities by lowest rank, then lowest turn, then lowest agent id. */
export function comesFirst(a: RankedCapacity, b: RankedCapacity): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank
  return a.turn === b.turn ? a.freeCapacity.agent.id < b.freeCapacity.agent.id : a.turn < b.turn
}

/** An equivalence class of free capacities: a request that fits in one fits in all, with the same rank. Never empty. */
export class CapacityClass {
  readonly key: string
  size = 0
  readonly #ranked = new Heap<RankedCapacity>(comesFirst)

  constructor(key: string) {
    this.key = key
  }

  /** The free capacity that gets the next request placed in this class. */
  get first(): RankedCapacity {
    for (let top = this.#ranked.peek(); top; top = this.#ranked.peek()) {
      if (top.version === top.freeCapacity.version) return top
      this.#ranked.pop()
    }
    throw new Error('an empty class of free capacities')
  }

  add(ranked: RankedCapacity): void {
    this.#ranked.push(ranked)
    this.size++
  }
}

/**
 * Free capacities grouped by their remaining amounts. A host has at most a few dozen states that matter to requests, and most hosts of a
 * group are alike, so there are far fewer classes than free capacities: a scan of the classes covers all free capacities.
 */
export class CapacityClasses {
  /** Classes in use, in order of creation. */
  readonly inUse = new Set<CapacityClass>()
  /** Log of classes that were created or got another first free capacity by an addition, oldest first. */
  readonly news: CapacityClass[] = []
  readonly #byKey = new Map<string, CapacityClass>()
  readonly #where = new Map<FreeCapacity, RankedCapacity>()
  readonly #digest: string | null
  readonly #inTurn: boolean
  /** Number of entries of the log of changed free capacities processed so far. */
  #seen = 0
  #freeCapacities: readonly FreeCapacity[] | undefined
  #free: ResourceSlots | undefined

  /** @param digest image of the requests: those of agents that hold it and of agents that do not are in different classes */
  constructor(freeCapacities: Iterable<FreeCapacity>, { digest, inTurn }: { digest: string | null; inTurn: boolean }) {
    this.#digest = digest
    this.#inTurn = inTurn
    for (const freeCapacity of freeCapacities) this.#put(freeCapacity)
  }

  /** The first free capacity of each class. */
  get freeCapacities(): readonly FreeCapacity[] {
    return (this.#freeCapacities ??= [...this.inUse].map(({ first }) => first.freeCapacity))
  }

  /** Free amounts of all free capacities together. */
  get free(): ResourceSlots {
    return (this.#free ??= this.freeFor(undefined))
  }

  /** The same, of devices only those that meet the need. */
  freeFor(need: GpuNeed | undefined): ResourceSlots {
    const sum = (slot: SlotName) =>
      [...this.inUse].reduce((all, { first, size }) => all + size * first.freeCapacity.freeFor(slot, need), 0)
    return Object.fromEntries(SLOT_NAMES.map(slot => [slot, sum(slot)]))
  }

  has(freeCapacity: FreeCapacity): boolean {
    return this.#where.has(freeCapacity)
  }

  /** @param changed log of all free capacities changed in this pass, in order; each call passes the whole log */
  update(changed: readonly FreeCapacity[]): void {
    const moved = new Set<FreeCapacity>()
    for (; this.#seen < changed.length; this.#seen++) {
      const freeCapacity = changed[this.#seen]
      const ranked = freeCapacity && this.#where.get(freeCapacity)
      if (ranked && ranked.version !== freeCapacity.version) moved.add(freeCapacity)
    }
    // Remove all moved free capacities before adding any: until all are removed, a class may have no first free capacity.
    for (const freeCapacity of moved) this.#remove(freeCapacity)
    for (const freeCapacity of moved) this.#put(freeCapacity)
  }

  #remove(freeCapacity: FreeCapacity): void {
    const capacityClass = this.#where.get(freeCapacity)?.capacityClass
    if (!capacityClass || --capacityClass.size > 0) return
    this.inUse.delete(capacityClass)
    this.#byKey.delete(capacityClass.key)
  }

  #put(freeCapacity: FreeCapacity): void {
    this.#freeCapacities = this.#free = undefined
    const holdsImage = this.#digest !== null && freeCapacity.holds(this.#digest)
    const key = `${freeCapacity.equivalenceKey} ${holdsImage}`
    const known = this.#byKey.get(key)
    const first = known?.first
    const capacityClass = known ?? new CapacityClass(key)
    if (!known) {
      this.#byKey.set(key, capacityClass)
      this.inUse.add(capacityClass)
    }
    const ranked = {
      freeCapacity,
      rank: 0,
      turn: this.#inTurn ? freeCapacity.turn : 0,
      version: freeCapacity.version,
      capacityClass,
    }
    capacityClass.add(ranked)
    this.#where.set(freeCapacity, ranked)
    if (capacityClass.first !== first) this.news.push(capacityClass)
  }
}

/** Representatives, one for each set of interchangeable free capacities. */
export function kindsOf(freeCapacities: Iterable<FreeCapacity>): readonly FreeCapacity[] {
  const kinds = new Map<string, FreeCapacity>()
  for (const freeCapacity of freeCapacities)
    if (!kinds.has(freeCapacity.equivalenceKey)) kinds.set(freeCapacity.equivalenceKey, freeCapacity)
  return [...kinds.values()]
}
