import { type ResourceSlots } from '#manager/contract'
import { Heap } from './heap.ts'
import { type Room } from './room.ts'
import { type Selector } from './selectors.ts'
import { comesFirst, type RankedRoom, type RoomClass, type RoomClasses } from './room-classes.ts'
import { type PendingSession, totalOf } from './snapshot.ts'

/**
 * The rooms for one kind of request, best first. The first call scans all equivalence classes. Only when the same request comes again
 * is a heap built; after that, only classes whose first room has changed are looked at again. In a plan with many equal
 * requests, each placement therefore costs the logarithm of the number of classes.
 */
export class Candidates {
  readonly #classes: RoomClasses
  readonly #session: PendingSession
  readonly #useHeld: boolean
  readonly #rank: (room: Room) => number
  #heap: Heap<RankedRoom> | undefined
  /** Latest heap entry of each class; older entries are stale. */
  readonly #last = new Map<RoomClass, RankedRoom>()
  #asked = false
  /** Number of entries of `RoomClasses.news` processed so far. */
  #seen = 0

  constructor(classes: RoomClasses, { session, selector, capacity, useHeld }: Request) {
    this.#classes = classes
    this.#session = session
    this.#useHeld = useHeld
    // The rank depends on the total of all kernels: they all run on one agent.
    this.#rank = selector.rank({ ...session, requested: totalOf(session) }, capacity)
  }

  /** Best room in the current state of the classes; undefined if the request fits nowhere. */
  best(): Room | undefined {
    if (!this.#asked) {
      this.#asked = true
      return this.#scan()?.room
    }
    const heap = this.#upToDate()
    for (let top = heap.peek(); top; top = heap.peek()) {
      if (this.#last.get(top.roomClass) === top && top.version === top.room.version) return top.room
      heap.pop()
      if (this.#last.get(top.roomClass) !== top) continue
      // The first room of the class has changed since; the next one has the same rank.
      this.#last.delete(top.roomClass)
      if (top.roomClass.size > 0) this.#push(heap, top.roomClass.first, top.rank)
    }
    return undefined
  }

  #scan(): RankedRoom | undefined {
    let best: RankedRoom | undefined
    for (const { first } of this.#classes.inUse) {
      const { room } = first
      if (!this.#fits(room)) continue
      const rank = this.#rank(room)
      if (best && rank > best.rank) continue
      const ranked = { ...first, rank }
      if (!best || comesFirst(ranked, best)) best = ranked
    }
    return best
  }

  #upToDate(): Heap<RankedRoom> {
    const { inUse, news } = this.#classes
    let heap = this.#heap
    const behind = news.length - this.#seen
    const classes = heap && behind < inUse.size ? news.slice(this.#seen) : inUse
    this.#seen = news.length
    if (!heap || classes === inUse) {
      heap = this.#heap = new Heap(comesFirst)
      this.#last.clear()
    }
    for (const roomClass of classes) {
      if (roomClass.size === 0) continue
      const { first } = roomClass
      const known = this.#last.get(roomClass)
      if (known ? known.room === first.room && known.version === first.version : !this.#fits(first.room)) continue
      this.#push(heap, first, known?.rank ?? this.#rank(first.room))
    }
    return heap
  }

  #push(heap: Heap<RankedRoom>, first: RankedRoom, rank: number): void {
    const ranked = { ...first, rank }
    this.#last.set(first.roomClass, ranked)
    heap.push(ranked)
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
