import { type ResourceSlots } from '#manager/contract'
import { Heap } from './heap.ts'
import { type Room } from './room.ts'
import { type Selector } from './selectors.ts'
import { comesFirst, type Place, type Shelf, type Shelves } from './shelves.ts'
import { type PendingSession, totalOf } from './snapshot.ts'

/**
 * The rooms for one kind of request, best first. The first call scans all shelves. Only when the same request comes again
 * is a heap built; after that, only shelves whose first room has changed are looked at again. In a plan with many equal
 * requests, each placement therefore costs the logarithm of the number of shelves.
 */
export class Candidates {
  readonly #shelves: Shelves
  readonly #session: PendingSession
  readonly #useHeld: boolean
  readonly #rank: (room: Room) => number
  #heap: Heap<Place> | undefined
  /** Latest heap entry of each shelf; older entries are stale. */
  readonly #last = new Map<Shelf, Place>()
  #asked = false
  /** Number of entries of `Shelves.news` processed so far. */
  #seen = 0

  constructor(shelves: Shelves, { session, selector, capacity, useHeld }: Request) {
    this.#shelves = shelves
    this.#session = session
    this.#useHeld = useHeld
    // The rank depends on the total of all kernels: they all run on one agent.
    this.#rank = selector.rank({ ...session, requested: totalOf(session) }, capacity)
  }

  /** Best room in the current state of the shelves; undefined if the request fits nowhere. */
  best(): Room | undefined {
    if (!this.#asked) {
      this.#asked = true
      return this.#scan()?.room
    }
    const heap = this.#upToDate()
    for (let top = heap.peek(); top; top = heap.peek()) {
      if (this.#last.get(top.shelf) === top && top.version === top.room.version) return top.room
      heap.pop()
      if (this.#last.get(top.shelf) !== top) continue
      // The shelf's first room has changed since; the shelf's next room has the same rank.
      this.#last.delete(top.shelf)
      if (top.shelf.size > 0) this.#push(heap, top.shelf.first, top.rank)
    }
    return undefined
  }

  #scan(): Place | undefined {
    let best: Place | undefined
    for (const { first } of this.#shelves.inUse) {
      const { room } = first
      if (!this.#fits(room)) continue
      const rank = this.#rank(room)
      if (best && rank > best.rank) continue
      const place = { ...first, rank }
      if (!best || comesFirst(place, best)) best = place
    }
    return best
  }

  #upToDate(): Heap<Place> {
    const { inUse, news } = this.#shelves
    let heap = this.#heap
    const behind = news.length - this.#seen
    const shelves = heap && behind < inUse.size ? news.slice(this.#seen) : inUse
    this.#seen = news.length
    if (!heap || shelves === inUse) {
      heap = this.#heap = new Heap(comesFirst)
      this.#last.clear()
    }
    for (const shelf of shelves) {
      if (shelf.size === 0) continue
      const { first } = shelf
      const known = this.#last.get(shelf)
      if (known ? known.room === first.room && known.version === first.version : !this.#fits(first.room)) continue
      this.#push(heap, first, known?.rank ?? this.#rank(first.room))
    }
    return heap
  }

  #push(heap: Heap<Place>, first: Place, rank: number): void {
    const place = { ...first, rank }
    this.#last.set(first.shelf, place)
    heap.push(place)
  }

  #fits(room: Room): boolean {
    return room.fits(this.#session.requested, this.#useHeld, this.#session.clusterSize)
  }
}

export interface Request {
  readonly session: PendingSession
  readonly selector: Selector
  /** Capacity of the group. */
  readonly capacity: ResourceSlots
  /** True: the session ends before the held capacity is needed, so it may use it. */
  readonly useHeld: boolean
}
