import { addSlots, type Reason, type ResourceSlots, type SessionId } from '#manager/contract'
import { Candidates } from './candidates.ts'
import { Limits } from './limits.ts'
import { canTake, dependencyReason, explain, hasStorage, isAwaited, isWaitingFor } from './reasons.ts'
import { reserve, reservedReason, startOf } from './reservation.ts'
import { Room } from './room.ts'
import { type Selector } from './selectors.ts'
import { kindsOf, Shelves } from './shelves.ts'
import {
  type AgentSnapshot,
  type GroupSnapshot,
  type Occupant,
  type PendingSession,
  type Placement,
  type Plan,
  type Reservation,
  type Sequencer,
  totalOf,
} from './snapshot.ts'

const GROUP_INACTIVE = 'An admin has closed this resource group, so sessions do not start in it. Launch in another one.'

const RESERVE_AFTER_MS = 10 * 60_000

/**
 * Decides which pending sessions of one resource group start now, where, and on which devices, and says why the others
 * wait. Pure and deterministic.
 *
 * A session that does not fit blocks no session behind it (backfill), except through the one reservation. The plan is
 * work-conserving: after it, no pending session fits into the capacity that is free and not held on any agent that the
 * session may use. Room only shrinks during a pass, so one attempt per session is enough, and a request equal to one that
 * failed is not tried again.
 */
export function plan(snapshot: GroupSnapshot, sequencer: Sequencer, selector: Selector): Plan {
  return new Pass(snapshot, sequencer, selector).run()
}

/** The rooms of one agent: now, before this pass, and as if nothing ran there. */
class AgentRooms {
  readonly agent: AgentSnapshot
  readonly now: Room
  readonly placed: Occupant[] = []
  readonly #options: GroupSnapshot['options']
  #before: Room | undefined
  #empty: Room | undefined

  constructor(agent: AgentSnapshot, options: GroupSnapshot['options']) {
    this.agent = agent
    this.#options = options
    this.now = new Room(agent, 'now', options)
  }

  /** The agent including the sessions that this pass has placed here. */
  get agentNow(): AgentSnapshot {
    if (this.placed.length === 0) return this.agent
    const { occupants = [], occupied, devices } = this.agent
    const given = this.placed.flatMap(occupant => occupant.devices)
    const on = (uuid: string) => given.reduce((sum, device) => sum + (device.uuid === uuid ? device.amount : 0), 0)
    return {
      ...this.agent,
      occupants: [...occupants, ...this.placed],
      occupied: this.placed.reduce<ResourceSlots>((sum, { slots }) => addSlots(sum, slots), occupied),
      devices: devices.map(device => ({ ...device, occupied: device.occupied + on(device.uuid) })),
    }
  }

  get before(): Room {
    return (this.#before ??= new Room(this.agent, 'now', this.#options))
  }

  get empty(): Room {
    return (this.#empty ??= new Room(this.agent, 'empty', this.#options))
  }
}

/** A single planning pass: call `run` only once. */
export class Pass {
  readonly #snapshot: GroupSnapshot
  readonly #limits: Limits
  readonly #sequencer: Sequencer
  readonly #selector: Selector
  readonly #agents: readonly AgentRooms[]
  readonly #byId: ReadonlyMap<string, AgentRooms>
  readonly #open: readonly AgentRooms[]
  readonly #capacity: ResourceSlots
  readonly #placements: Placement[] = []
  readonly #reasons = new Map<SessionId, Reason>()
  readonly #changed: Room[] = []
  // Caches: most requests are alike, and a result for one holds for its equals.
  readonly #explained = new Map<string, Reason>()
  readonly #able = new Map<string, readonly AgentRooms[]>()
  readonly #fresh = new Map<string, readonly AgentRooms[]>()
  readonly #candidates = new Map<string, Candidates>()
  readonly #shelves = new Map<readonly AgentRooms[], Map<string | null, Shelves>>()
  // One room of each likeness, which stands for all rooms like it.
  readonly #empty = new Map<readonly AgentRooms[], readonly Room[]>()
  readonly #before = new Map<readonly AgentRooms[], readonly Room[]>()
  #turn: number
  #reservation: Reservation | undefined
  /** Time at which the held capacity is needed; Infinity where unknown. */
  #heldUntil = Infinity

  constructor(snapshot: GroupSnapshot, sequencer: Sequencer, selector: Selector) {
    this.#snapshot = snapshot
    this.#limits = new Limits(snapshot.scopes)
    this.#sequencer = sequencer
    this.#selector = selector
    this.#agents = snapshot.agents.map(agent => new AgentRooms(agent, snapshot.options))
    this.#byId = new Map(this.#agents.map(rooms => [rooms.agent.id, rooms]))
    this.#open = snapshot.active === false ? [] : this.#agents.filter(({ agent }) => canTake(agent, snapshot.options))
    this.#capacity = this.#open.reduce<ResourceSlots>((sum, { agent }) => addSlots(sum, agent.capacity), {})
    this.#turn = snapshot.agents.reduce((last, { turn }) => Math.max(last, turn ?? 0), 0)
  }

  run(): Plan {
    const snapshot = this.#startHolder()
    const queue = this.#sequencer.start(snapshot, this.#capacity)
    const waiting = this.#reservation ? [this.#reservation.sessionId] : []
    for (let session = queue.next(); session; session = queue.next()) {
      if (this.#place(session)) queue.placed(session)
      else if (session.id !== this.#reservation?.sessionId) {
        this.#wait(session)
        waiting.push(session.id)
      }
    }
    // A session that got the reservation during this pass is next in the queue as well.
    const ids = [...new Set(this.#reservation ? [this.#reservation.sessionId, ...waiting] : waiting)]
    const reasons = new Map(ids.flatMap(id => entry(id, this.#reasons.get(id))))
    return { placements: this.#placements, reasons, queue: ids, reservation: this.#reservation }
  }

  /** Rooms that the session may use, as they are after `run`; one of each shelf. */
  roomsFor(session: PendingSession): readonly Room[] {
    return this.#shelvesFor(session).rooms
  }

  /** Amount of each limited slot left for the session after `run`; undefined: nothing at all. */
  leftFor(session: PendingSession): ResourceSlots | undefined {
    return this.#limits.left(session)
  }

  /** Current shelves of the rooms that the session may use: nearly always those of all open agents and one image. */
  #shelvesFor(session: PendingSession): Shelves {
    const allowed = this.#allowedFor(session)
    const digest = session.imageDigest
    const byImage = remembered(this.#shelves, allowed, () => new Map<string | null, Shelves>())
    const { inTurn } = this.#selector
    const rooms = () => allowed.map(({ now }) => now)
    const shelves = remembered(byImage, digest, () => new Shelves(rooms(), { digest, inTurn }))
    shelves.update(this.#changed)
    return shelves
  }

  /** Tries the session of the reservation before all others. If it does not start, its capacity stays held. */
  #startHolder(): GroupSnapshot {
    const { reservation, pending } = this.#snapshot
    const holder = reservation && pending.find(session => session.id === reservation.sessionId)
    if (!reservation || !holder || !this.#sequencer.reserves) return this.#snapshot
    // A limit or a dependency blocks the session, so more capacity would not help: hold nothing for it.
    if (!this.#limits.allows(holder) || isWaitingFor(holder)) return this.#snapshot
    const rooms = this.#allowedFor(holder).find(({ agent }) => agent.id === reservation.agentId)
    const rest = { ...this.#snapshot, pending: pending.filter(session => session !== holder) }
    if (rooms && fits(rooms.now, holder)) this.#take(holder, rooms.now, true)
    else if (!this.#place(holder)) {
      const place = rooms ?? this.#awaitedFor(holder, reservation)
      const kept =
        place && stillThere(reservation, place, holder) ? reservation : reserve(holder, this.#allowedFor(holder))
      // No agent could hold the session even when empty: it queues like the others and gets its reason there.
      if (!kept) return this.#snapshot
      this.#hold(kept, holder)
      return rest
    }
    const held = rest.usage?.get(holder.ownerId) ?? {}
    const usage = new Map(rest.usage).set(holder.ownerId, addSlots(held, totalOf(holder)))
    return { ...rest, usage }
  }

  /** The agent of the reservation while it is briefly disconnected, as all agents are just after a manager has started. */
  #awaitedFor(holder: PendingSession, { agentId }: Reservation): AgentRooms | undefined {
    const rooms = this.#snapshot.active === false ? undefined : this.#byId.get(agentId)
    return rooms && isAwaited(rooms.agent, this.#snapshot.options)
      ? ableAgents({ ...holder, storage: undefined }, [rooms])[0]
      : undefined
  }

  #place(session: PendingSession): boolean {
    if (!this.#limits.allows(session) || isWaitingFor(session)) return false
    const useHeld = this.#mayUseHeld(session)
    const key = requestKey(session, useHeld)
    if (this.#explained.has(key)) return false
    const shelves = this.#shelvesFor(session)
    const request = { session, selector: this.#selector, capacity: this.#capacity, useHeld }
    const room = remembered(this.#candidates, key, () => new Candidates(shelves, request)).best()
    if (!room) return false
    this.#take(session, room, useHeld)
    return true
  }

  #take(session: PendingSession, room: Room, useHeld: boolean): void {
    const { id, clusterSize = 1 } = session
    this.#limits.take(session)
    const requested = totalOf(session)
    const kernels = Array.from({ length: clusterSize }, () => room.take(session.requested, useHeld))
    const devices = kernels.flat()
    const latestEnd = this.#latestEndOn(room.agent, session)
    this.#byId.get(room.agent.id)?.placed.push({ slots: requested, devices, latestEnd })
    room.turn = ++this.#turn
    this.#changed.push(room)
    const placement = { sessionId: id, agentId: room.agent.id, requested, devices }
    this.#placements.push(clusterSize === 1 ? placement : { ...placement, kernels })
  }

  #wait(session: PendingSession): void {
    const limit = this.#limits.explain(session) ?? dependencyReason(session)
    if (limit) {
      this.#reasons.set(session.id, limit)
      return
    }
    const key = requestKey(session, this.#mayUseHeld(session))
    const reason = this.#explained.get(key) ?? this.#explain(session)
    if (this.#isDue(session, reason)) {
      const reservation = reserve(session, this.#allowedFor(session))
      if (reservation) {
        this.#hold(reservation, session)
        return
      }
    }
    this.#explained.set(key, reason)
    this.#reasons.set(session.id, reason)
  }

  #explain(session: PendingSession): Reason {
    if (this.#snapshot.active === false) {
      const { notice = '' } = this.#snapshot
      if (notice === '') return { code: 'group_inactive', message: GROUP_INACTIVE }
      return { code: 'group_inactive', message: `An admin has closed this resource group: ${notice}`, note: notice }
    }
    const allowed = this.#allowedFor(session)
    const shelves = this.#shelvesFor(session)
    const before = remembered(this.#before, allowed, () => kindsOf(allowed.map(({ before }) => before)))
    // The session was not placed, so a room in which it fits can only be the held one.
    const held = this.#reservation && this.#byId.get(this.#reservation.agentId)?.now
    const kept = held && shelves.has(held) && fits(held, session, true)
    return explain({
      session,
      agents: this.#snapshot.agents,
      options: this.#snapshot.options,
      empty: this.#emptyOf(this.#agents),
      open: this.#emptyOf(this.#open),
      holders: this.#emptyOf(this.#ableFor(session)),
      rooms: shelves.rooms,
      free: shelves.free,
      fittedBefore: before.some(room => fits(room, session)),
      kept: kept ? held.agent.name : undefined,
    })
  }

  #emptyOf(agents: readonly AgentRooms[]): readonly Room[] {
    return remembered(this.#empty, agents, () => kindsOf(agents.map(({ empty }) => empty)))
  }

  /** Whether the session has been blocked on capacity for long enough, and no session has the reservation. */
  #isDue(session: PendingSession, { code }: Reason): boolean {
    const { now, options } = this.#snapshot
    if (this.#reservation || !this.#sequencer.reserves || now === undefined) return false
    if (code !== 'capacity' && code !== 'fragmentation' && code !== 'queued_behind') return false
    return now - session.enqueuedAt >= (options?.reserveAfterMs ?? RESERVE_AFTER_MS)
  }

  #hold(reservation: Reservation, session: PendingSession): void {
    const rooms = this.#byId.get(reservation.agentId)
    if (!rooms) return
    this.#reservation = reservation
    const total = totalOf(session)
    this.#heldUntil = rooms.agent.connected ? startOf(reservation, rooms.agentNow, total) : Infinity
    rooms.now.hold(reservation, total)
    this.#changed.push(rooms.now)
    this.#reasons.set(session.id, reservedReason(rooms.agentNow, total, this.#heldUntil))
  }

  /** Whether the session ends, at the latest, before the session of the reservation can start. */
  #mayUseHeld(session: PendingSession): boolean {
    const held = this.#reservation && this.#byId.get(this.#reservation.agentId)
    if (!held || !Number.isFinite(this.#heldUntil)) return false
    const latestEnd = this.#latestEndOn(held.agent, session)
    return latestEnd !== null && latestEnd <= this.#heldUntil
  }

  /** Latest time at which the session would leave the agent if it were placed now; null where unknown. */
  #latestEndOn({ images }: AgentSnapshot, { imageDigest, longestHold }: PendingSession): number | null {
    const { now } = this.#snapshot
    if (now === undefined || !longestHold) return null
    const isThere = imageDigest !== null && images.has(imageDigest)
    return now + (isThere ? longestHold.imageThereMs : longestHold.imagePulledMs)
  }

  /**
   * Agents that may take the session: those that hold its image, or all if the image can be pulled, and have the storages
   * of its folders. Agents on which the session failed are left out as long as another one could hold it when empty.
   */
  #allowedFor(session: PendingSession): readonly AgentRooms[] {
    const able = this.#ableFor(session)
    const { failedAgents } = session
    if (failedAgents.length === 0) return able
    const fresh = remembered(this.#fresh, `${needsKey(session)}|${failedAgents.join()}`, () => {
      const failed = new Set(failedAgents)
      return able.filter(({ agent }) => !failed.has(agent.id))
    })
    return this.#emptyOf(fresh).some(empty => fits(empty, session)) ? fresh : able
  }

  #ableFor(session: PendingSession): readonly AgentRooms[] {
    const { onlyOn } = session
    const open = () => (onlyOn === undefined ? this.#open : this.#open.filter(({ agent }) => agent.id === onlyOn))
    return remembered(this.#able, needsKey(session), () => ableAgents(session, open()))
  }
}

function remembered<K, V>(known: Map<K, V>, key: K, make: () => V): V {
  let value = known.get(key)
  if (value === undefined) known.set(key, (value = make()))
  return value
}

const fits = (room: Room, { requested, clusterSize }: PendingSession, useHeld = false) =>
  room.fits(requested, useHeld, clusterSize)

const entry = (id: SessionId, reason: Reason | undefined) => (reason ? [[id, reason] as const] : [])

/**
 * Agents that can run the session's image and have the storages of its folders. An image that no registry offers runs only
 * on agents that hold it: another agent would look it up by name, and find somebody else's image.
 */
function ableAgents(session: PendingSession, open: readonly AgentRooms[]): readonly AgentRooms[] {
  const { imageDigest: digest, pullable = false } = session
  if (digest === null) return []
  const able = open.filter(({ agent }) => (pullable || agent.images.has(digest)) && hasStorage(agent, session))
  // Return the same list object wherever possible: caches use it as their key.
  return able.length === open.length ? open : able
}

/** Whether the agent could still hold the session when empty, and still has the reserved devices. */
function stillThere({ devices }: Reservation, { agent, empty }: AgentRooms, session: PendingSession): boolean {
  const known = new Set(agent.devices.map(device => `${device.slot} ${device.uuid}`))
  return fits(empty, session) && devices.every(({ slot, uuid }) => known.has(`${slot} ${uuid}`))
}

/** Requests with the same key fit or fail alike. */
function requestKey(session: PendingSession, useHeld: boolean): string {
  const { requested, clusterSize = 1, image, failedAgents } = session
  const { cpu, mem, 'cuda.device': devices, 'cuda.shares': shares } = requested
  return `${cpu}|${mem}|${devices}|${shares}|${clusterSize}|${useHeld}|${needsKey(session)}|${image}|${failedAgents.join()}`
}

/** Sessions with the same key can run on the same agents, as far as images, files and storages decide. */
function needsKey({ imageDigest, pullable = false, onlyOn, storage }: PendingSession): string {
  const key = `${imageDigest}|${pullable}|${onlyOn ?? ''}`
  return storage === undefined ? key : `${key}|${storage.map(({ marker }) => marker).join()}`
}
