import { type ResourceSlots } from '#manager/contract'
import { Heap } from './heap.ts'
import { type Room } from './room.ts'
import { type Selector } from './selectors.ts'
import { comesFirst, type Place, type Shelf, type Shelves } from './shelves.ts'
import { type PendingSession, totalOf } from './snapshot.ts'

/**
 * The rooms for one kind of request, best first. The first question looks at all shelves; only when the same request comes
 * again is an order kept, and after that only shelves with another first room are looked at again: plans of many like
 * requests cost per placement the logarithm of the number of shelves.
 */
export class Candidates {
  readonly #shelves: Shelves
  readonly #session: PendingSession
  readonly #useHeld: boolean
  readonly #rank: (room: Room) => number
  #heap: Heap<Place> | undefined
  /** What was put in last for each shelf; what was before says nothing. */
  readonly #last = new Map<Shelf, Place>()
  #asked = false
  /** How much of the news has been looked at. */
  #seen = 0

  constructor(shelves: Shelves, { session, selector, capacity, useHeld }: Request) {
    this.#shelves = shelves
    this.#session = session
    this.#useHeld = useHeld
    // What all of its kernels take together is what counts on an agent.
    this.#rank = selector.rank({ ...session, requested: totalOf(session) }, capacity)
  }

  /** Of the shelves as they are now. */
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
      // Its first room is on another shelf by now; the next one has the same rank.
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
  /** Of the group. */
  readonly capacity: ResourceSlots
  /** It ends before what is held is needed. */
  readonly useHeld: boolean
}
