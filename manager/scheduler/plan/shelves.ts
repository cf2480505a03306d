import { type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { Heap } from './heap.ts'
import { type Room } from './room.ts'

/** A room as it was when it was ranked. Stale once the room has another version: it is on another shelf by then. */
export interface Place {
  readonly room: Room
  readonly rank: number
  /** The room's turn; 0 where the selector does not use turns. */
  readonly turn: number
  readonly version: number
  readonly shelf: Shelf
}

/** Orders places by lowest rank, then lowest turn, then lowest agent id. */
export function comesFirst(a: Place, b: Place): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank
  return a.turn === b.turn ? a.room.agent.id < b.room.agent.id : a.turn < b.turn
}

/** Rooms that no request can tell apart: a request that fits in one fits in all, with the same rank. Never empty. */
export class Shelf {
  readonly key: string
  size = 0
  readonly #places = new Heap<Place>(comesFirst)

  constructor(key: string) {
    this.key = key
  }

  /** The room that gets the next request placed on this shelf. */
  get first(): Place {
    for (let top = this.#places.peek(); top; top = this.#places.peek()) {
      if (top.version === top.room.version) return top
      this.#places.pop()
    }
    throw new Error('an empty shelf')
  }

  add(place: Place): void {
    this.#places.push(place)
    this.size++
  }
}

/**
 * Rooms grouped by what is left in them. A host has at most a few dozen states that matter to requests, and most hosts of
 * a group are alike, so there are far fewer shelves than rooms: a scan of the shelves covers all rooms.
 */
export class Shelves {
  /** Shelves in use, in order of creation. */
  readonly inUse = new Set<Shelf>()
  /** Log of shelves that were created or got another first room by an addition, oldest first. */
  readonly news: Shelf[] = []
  readonly #byKey = new Map<string, Shelf>()
  readonly #where = new Map<Room, Place>()
  readonly #digest: string | null
  readonly #inTurn: boolean
  /** Number of entries of the log of changed rooms processed so far. */
  #seen = 0
  #rooms: readonly Room[] | undefined
  #free: ResourceSlots | undefined

  /** @param digest image of the requests: rooms that hold it and rooms that do not are on different shelves */
  constructor(rooms: Iterable<Room>, { digest, inTurn }: { digest: string | null; inTurn: boolean }) {
    this.#digest = digest
    this.#inTurn = inTurn
    for (const room of rooms) this.#put(room)
  }

  /** The first room of each shelf. */
  get rooms(): readonly Room[] {
    return (this.#rooms ??= [...this.inUse].map(({ first }) => first.room))
  }

  /** Free amounts of all rooms together. */
  get free(): ResourceSlots {
    const sum = (slot: SlotName) =>
      [...this.inUse].reduce((all, { first, size }) => all + size * first.room.free(slot), 0)
    return (this.#free ??= Object.fromEntries(SLOT_NAMES.map(slot => [slot, sum(slot)])))
  }

  has(room: Room): boolean {
    return this.#where.has(room)
  }

  /** @param changed log of all rooms changed in this pass, in order; each call passes the whole log */
  update(changed: readonly Room[]): void {
    const moved = new Set<Room>()
    for (; this.#seen < changed.length; this.#seen++) {
      const room = changed[this.#seen]
      const place = room && this.#where.get(room)
      if (place && place.version !== room.version) moved.add(room)
    }
    // Remove all moved rooms before adding any: until all are removed, a shelf may have no first room.
    for (const room of moved) this.#remove(room)
    for (const room of moved) this.#put(room)
  }

  #remove(room: Room): void {
    const shelf = this.#where.get(room)?.shelf
    if (!shelf || --shelf.size > 0) return
    this.inUse.delete(shelf)
    this.#byKey.delete(shelf.key)
  }

  #put(room: Room): void {
    this.#rooms = this.#free = undefined
    const holdsImage = this.#digest !== null && room.holds(this.#digest)
    const key = `${room.likeness} ${holdsImage}`
    const known = this.#byKey.get(key)
    const first = known?.first
    const shelf = known ?? new Shelf(key)
    if (!known) {
      this.#byKey.set(key, shelf)
      this.inUse.add(shelf)
    }
    const place = { room, rank: 0, turn: this.#inTurn ? room.turn : 0, version: room.version, shelf }
    shelf.add(place)
    this.#where.set(room, place)
    if (shelf.first !== first) this.news.push(shelf)
  }
}

/** Representatives, one for each set of interchangeable rooms. */
export function kindsOf(rooms: Iterable<Room>): readonly Room[] {
  const kinds = new Map<string, Room>()
  for (const room of rooms) if (!kinds.has(room.likeness)) kinds.set(room.likeness, room)
  return [...kinds.values()]
}
