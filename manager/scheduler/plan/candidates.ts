import { type ResourceSlots } from '#manager/contract'
import { Heap } from './heap.ts'
import { type FreeCapacity } from './free-capacity.ts'
import { type Selector } from './selectors.ts'
import { comesFirst, type RankedCapacity, type CapacityClass, type CapacityClasses } from './capacity-classes.ts'
import { type PendingSession, totalOf } from './snapshot.ts'

/**
 * The free capacities for one kind of request, best first. The first call scans all equivalence classes. A heap is built only when the same
 * request comes again; after that, only classes whose first free capacity has changed are ranked again. In a plan with many equal requests,
 * each placement therefore costs the logarithm of the number of classes.
 */
export class Candidates {
  readonly #classes: CapacityClasses
  readonly #session: PendingSession
  readonly #useHeld: boolean
  readonly #rank: (freeCapacity: FreeCapacity) => number
  #heap: Heap<RankedCapacity> | undefined
  /** Latest heap entry of each class; older entries are stale. */
  readonly #last = new Map<CapacityClass, RankedCapacity>()
  #asked = false
  /** Number of entries of `CapacityClasses.news` processed so far. */
  #seen = 0

  constructor(classes: CapacityClasses, { session, selector, capacity, useHeld }: Request) {
    this.#classes = classes
    this.#session = session
    this.#useHeld = useHeld
    // The rank depends on the total of all kernels: they all run on one agent.
    this.#rank = selector.rank({ ...session, requested: totalOf(session) }, capacity)
  }

  /** Best free capacity in the current state of the classes; undefined if the request fits nowhere. */
  best(): FreeCapacity | undefined {
    if (!this.#asked) {
      this.#asked = true
      return this.#scan()?.freeCapacity
    }
    const heap = this.#upToDate()
    for (let top = heap.peek(); top; top = heap.peek()) {
      if (this.#last.get(top.capacityClass) === top && top.version === top.freeCapacity.version) return top.freeCapacity
      heap.pop()
      if (this.#last.get(top.capacityClass) !== top) continue
      // The first free capacity of the class has changed since; the next one has the same rank.
      this.#last.delete(top.capacityClass)
      if (top.capacityClass.size > 0) this.#push(heap, top.capacityClass.first, top.rank)
    }
    return undefined
  }

  #scan(): RankedCapacity | undefined {
    let best: RankedCapacity | undefined
    for (const { first } of this.#classes.inUse) {
      const { freeCapacity } = first
      if (!this.#fits(freeCapacity)) continue
      const rank = this.#rank(freeCapacity)
      if (best && rank > best.rank) continue
      const ranked = { ...first, rank }
      if (!best || comesFirst(ranked, best)) best = ranked
    }
    return best
  }

  #upToDate(): Heap<RankedCapacity> {
    const { inUse, news } = this.#classes
    let heap = this.#heap
    const behind = news.length - this.#seen
    const classes = heap && behind < inUse.size ? news.slice(this.#seen) : inUse
    this.#seen = news.length
    if (!heap || classes === inUse) {
      heap = this.#heap = new Heap(comesFirst)
      this.#last.clear()
    }
    for (const capacityClass of classes) {
      if (capacityClass.size === 0) continue
      const { first } = capacityClass
      const known = this.#last.get(capacityClass)
      if (
        known
          ? known.freeCapacity === first.freeCapacity && known.version === first.version
          : !this.#fits(first.freeCapacity)
      )
        continue
      this.#push(heap, first, known?.rank ?? this.#rank(first.freeCapacity))
    }
    return heap
  }

  #push(heap: Heap<RankedCapacity>, first: RankedCapacity, rank: number): void {
    const ranked = { ...first, rank }
    this.#last.set(first.capacityClass, ranked)
    heap.push(ranked)
  }

  #fits(freeCapacity: FreeCapacity): boolean {
    const { requested, clusterSize, gpu } = this.#session
    return freeCapacity.fits(requested, this.#useHeld, clusterSize, gpu)
  }
}

export interface Request {
  readonly session: PendingSession
  readonly selector: Selector
  /** Capacity of the group. */
  readonly capacity: ResourceSlots
  /** True if the session ends before the held capacity is needed, so that it may use it. */
  readonly useHeld: boolean
}
