import { type ResourceSlots, SLOT_NAMES, type SlotName } from '#manager/contract'
import { Heap } from './heap.ts'
import { type Room } from './room.ts'

/** A room as it was when it was ranked. Stale once the room has another version: it is in another class by then. */
export interface RankedRoom {
  readonly room: Room
  readonly rank: number
  /** The room's turn; 0 where the selector does not use turns. */
  readonly turn: number
  readonly version: number
  readonly roomClass: RoomClass
}

/** Orders ranked rooms by lowest rank, then lowest turn, then lowest agent id. */
export function comesFirst(a: RankedRoom, b: RankedRoom): boolean {
  if (a.rank !== b.rank) return a.rank < b.rank
  return a.turn === b.turn ? a.room.agent.id < b.room.agent.id : a.turn < b.turn
}

/** An equivalence class of rooms: a request that fits in one room fits in all, with the same rank. Never empty. */
export class RoomClass {
  readonly key: string
  size = 0
  readonly #ranked = new Heap<RankedRoom>(comesFirst)

  constructor(key: string) {
    this.key = key
  }

  /** The room that gets the next request placed in this class. */
  get first(): RankedRoom {
    for (let top = this.#ranked.peek(); top; top = this.#ranked.peek()) {
      if (top.version === top.room.version) return top
      this.#ranked.pop()
    }
    throw new Error('an empty class of rooms')
  }

  add(ranked: RankedRoom): void {
    this.#ranked.push(ranked)
    this.size++
  }
}

/**
 * Rooms grouped by what is left in them. A host has at most a few dozen states that matter to requests, and most hosts of
 * a group are alike, so there are far fewer classes than rooms: a scan of the classes covers all rooms.
 */
export class RoomClasses {
  /** Classes in use, in order of creation. */
  readonly inUse = new Set<RoomClass>()
  /** Log of classes that were created or got another first room by an addition, oldest first. */
  readonly news: RoomClass[] = []
  readonly #byKey = new Map<string, RoomClass>()
  readonly #where = new Map<Room, RankedRoom>()
  readonly #digest: string | null
  readonly #inTurn: boolean
  /** Number of entries of the log of changed rooms processed so far. */
  #seen = 0
  #rooms: readonly Room[] | undefined
  #free: ResourceSlots | undefined

  /** @param digest image of the requests: rooms that hold it and rooms that do not are in different classes */
  constructor(rooms: Iterable<Room>, { digest, inTurn }: { digest: string | null; inTurn: boolean }) {
    this.#digest = digest
    this.#inTurn = inTurn
    for (const room of rooms) this.#put(room)
  }

  /** The first room of each class. */
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
      const ranked = room && this.#where.get(room)
      if (ranked && ranked.version !== room.version) moved.add(room)
    }
    // Remove all moved rooms before adding any: until all are removed, a class may have no first room.
    for (const room of moved) this.#remove(room)
    for (const room of moved) this.#put(room)
  }

  #remove(room: Room): void {
    const roomClass = this.#where.get(room)?.roomClass
    if (!roomClass || --roomClass.size > 0) return
    this.inUse.delete(roomClass)
    this.#byKey.delete(roomClass.key)
  }

  #put(room: Room): void {
    this.#rooms = this.#free = undefined
    const holdsImage = this.#digest !== null && room.holds(this.#digest)
    const key = `${room.equivalenceKey} ${holdsImage}`
    const known = this.#byKey.get(key)
    const first = known?.first
    const roomClass = known ?? new RoomClass(key)
    if (!known) {
      this.#byKey.set(key, roomClass)
      this.inUse.add(roomClass)
    }
    const ranked = { room, rank: 0, turn: this.#inTurn ? room.turn : 0, version: room.version, roomClass }
    roomClass.add(ranked)
    this.#where.set(room, ranked)
    if (roomClass.first !== first) this.news.push(roomClass)
  }
}

/** Representatives, one for each set of interchangeable rooms. */
export function kindsOf(rooms: Iterable<Room>): readonly Room[] {
  const kinds = new Map<string, Room>()
  for (const room of rooms) if (!kinds.has(room.equivalenceKey)) kinds.set(room.equivalenceKey, room)
  return [...kinds.values()]
}
