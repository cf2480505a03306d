import { type ResourceSlots } from '#manager/contract'
import { Heap } from './heap.ts'
import { type Room } from './room.ts'
import { type Selector } from './selectors.ts'
import { type PendingSession, totalOf } from './snapshot.ts'

interface Entry {
  readonly room: Room
  readonly rank: number
  /** Of the room when it was ranked; an entry of an older version says nothing. */
  readonly version: number
}

/**
 * The rooms for one kind of request, best first. The first question looks at all rooms; only when the same request comes
 * again is an order kept, and after that only rooms that something was placed in meanwhile are looked at again: plans
 * of many like requests cost per placement the logarithm of the number of agents.
 */
export class Candidates {
  readonly #rooms: ReadonlySet<Room>
  readonly #session: PendingSession
  readonly #useHeld: boolean
  readonly #rank: (room: Room) => number
  #heap: Heap<Entry> | undefined
  #asked = false
  /** How much of the log has been looked at. */
  #seen = 0

  constructor(rooms: ReadonlySet<Room>, { session, selector, capacity, useHeld }: Request) {
    this.#rooms = rooms
    this.#session = session
    this.#useHeld = useHeld
    // What all of its kernels take together is what counts on an agent.
    this.#rank = selector({ ...session, requested: totalOf(session) }, capacity)
  }

  /** @param changed every room that was changed in this pass, in order, the same ones again each time */
  best(changed: readonly Room[]): Room | undefined {
    if (!this.#asked) {
      this.#asked = true
      return this.#scan()
    }
    const heap = this.#upToDate(changed)
    for (let top = heap.peek(); top; top = heap.peek()) {
      if (top.version === top.room.version) return top.room
      heap.pop()
    }
    return undefined
  }

  #scan(): Room | undefined {
    let best: Room | undefined
    let lowest = Infinity
    for (const room of this.#rooms) {
      if (!this.#fits(room)) continue
      const rank = this.#rank(room)
      if (best && (rank > lowest || (rank === lowest && room.agent.id > best.agent.id))) continue
      best = room
      lowest = rank
    }
    return best
  }

  #upToDate(changed: readonly Room[]): Heap<Entry> {
    const known = this.#heap
    const heap = known && changed.length - this.#seen < this.#rooms.size ? known : new Heap(ranksBefore)
    const rooms = heap === known ? new Set(changed.slice(this.#seen)) : this.#rooms
    for (const room of rooms) {
      if (!this.#rooms.has(room) || !this.#fits(room)) continue
      heap.push({ room, rank: this.#rank(room), version: room.version })
    }
    this.#heap = heap
    this.#seen = changed.length
    return heap
  }

  #fits(room: Room): boolean {
    return room.fits(this.#session.requested, this.#useHeld, this.#session.clusterSize)
  }
}

export interface Request {
  readonly session: PendingSession
  readonly selector: Selector
  readonly capacity: ResourceSlots
  /** It ends before what is held is needed. */
  readonly useHeld: boolean
}

function ranksBefore(a: Entry, b: Entry): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.room.agent.id < b.room.agent.id)
}
