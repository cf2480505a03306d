import { type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { Heap } from './heap.ts'
import { type Room } from './room.ts'

/** A room as it was when it was ranked; one that has changed since then is somewhere else by now. */
export interface Place {
  readonly room: Room
  readonly rank: number
  /** 0 where turns do not count. */
  readonly turn: number
  readonly version: number
  readonly shelf: Shelf
}

/** Lowest rank, then whose turn it is, then the lowest id. */
export function comesFirst(a: Place, b: Place): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank
  return a.turn === b.turn ? a.room.agent.id < b.room.agent.id : a.turn < b.turn
}

/** Rooms that no request tells apart: whatever fits in one fits in all of them, with the same rank. Never empty. */
export class Shelf {
  readonly key: string
  size = 0
  readonly #places = new Heap<Place>(comesFirst)

  constructor(key: string) {
    this.key = key
  }

  /** Who gets the next request that goes here. */
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
 * Rooms by what is left in them. A host has a few dozen states at most that matter to requests, and most hosts of a group are
 * alike, so there are far fewer shelves than rooms: to look at all shelves is to look at all rooms.
 */
export class Shelves {
  /** Those in use, in the order of their making. */
  readonly inUse = new Set<Shelf>()
  /** Every shelf that was made, or got another first room by an addition: at their ends, in order. */
  readonly news: Shelf[] = []
  readonly #byKey = new Map<string, Shelf>()
  readonly #where = new Map<Room, Place>()
  readonly #digest: string | null
  readonly #inTurn: boolean
  /** How much of the log has been looked at. */
  #seen = 0
  #rooms: readonly Room[] | undefined
  #free: ResourceSlots | undefined

  /** @param digest image of the requests: a room that holds it is not like one that does not */
  constructor(rooms: Iterable<Room>, { digest, inTurn }: { digest: string | null; inTurn: boolean }) {
    this.#digest = digest
    this.#inTurn = inTurn
    for (const room of rooms) this.#put(room)
  }

  /** One of each shelf. */
  get rooms(): readonly Room[] {
    return (this.#rooms ??= [...this.inUse].map(({ first }) => first.room))
  }

  /** In all rooms together. */
  get free(): ResourceSlots {
    const sum = (slot: SlotName) =>
      [...this.inUse].reduce((all, { first, size }) => all + size * first.room.free(slot), 0)
    return (this.#free ??= Object.fromEntries(SLOT_NAMES.map(slot => [slot, sum(slot)])))
  }

  has(room: Room): boolean {
    return this.#where.has(room)
  }

  /** @param changed every room that was changed in this pass, in order, the same ones again each time */
  update(changed: readonly Room[]): void {
    const moved = new Set<Room>()
    for (; this.#seen < changed.length; this.#seen++) {
      const room = changed[this.#seen]
      const place = room && this.#where.get(room)
      if (place && place.version !== room.version) moved.add(room)
    }
    // All leave before one arrives: while some still have to leave a shelf may have no first room.
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

/** One of each kind. */
export function kindsOf(rooms: Iterable<Room>): readonly Room[] {
  const kinds = new Map<string, Room>()
  for (const room of rooms) if (!kinds.has(room.likeness)) kinds.set(room.likeness, room)
  return [...kinds.values()]
}
