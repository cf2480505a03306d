import { type Reason, type ResourceSlots, type SessionId, type SlotName } from '#manager/contract'
import { AgentCapacities, fits, stillThere } from './agent-capacities.ts'
import { ableAgents, AllowedAgents } from './allowed-agents.ts'
import { Candidates } from './candidates.ts'
import { chooseGang, mayCross, mostKernels, networked, roomFor } from './gang.ts'
import { closedReason } from './closed-reason.ts'
import { chooseVictims, Gives, interruptingReason, mayStop, type OnAgent, type Victims } from './interruption.ts'
import { Limits } from './limits.ts'
import { canTake, dependencyReason, explain, gangReason, isAwaited, isWaitingFor } from './reasons.ts'
import { remembered } from './remembered.ts'
import { requestKey } from './request-keys.ts'
import { reserve, reservedGangReason, reservedReason, reserveGang, startOf } from './reservation.ts'
import { type FreeCapacity } from './free-capacity.ts'
import { type GpuNeed, mayGive, needKey } from './gpu-need.ts'
import { type KindOfDevice } from './model-limits.ts'
import { type Selector } from './selectors.ts'
import { openCapacity } from './shares.ts'
import { kindsOf, CapacityClasses } from './capacity-classes.ts'
import {
  type AgentSnapshot,
  type DeviceAllocation,
  type GroupSnapshot,
  type HoldingSession,
  type Interruption,
  type InterruptionRules,
  type PendingSession,
  type Placement,
  type Plan,
  type Reservation,
  reservedParts,
  type Sequencer,
  totalOf,
} from './snapshot.ts'

const RESERVE_AFTER_MS = 10 * 60_000
/** Reasons of sessions that start once enough capacity is free. */
const FOR_CAPACITY: ReadonlySet<string> = new Set(['capacity', 'fragmentation', 'queued_behind'])

/**
 * Decides which pending sessions of one resource group start now, on which agents and devices, and gives the reasons why the others wait.
 * Pure and deterministic.
 *
 * A session that does not fit blocks no session behind it (backfill), except through the one reservation. The plan is work-conserving:
 * after it, no pending session fits into the capacity that is free and not held on any agent that the session may use. Free capacity only
 * shrinks during a pass, so one attempt per session is enough, and a request equal to one that failed is not tried again.
 */
export function plan(snapshot: GroupSnapshot, sequencer: Sequencer, selector: Selector): Plan {
  return new Pass(snapshot, sequencer, selector).run()
}

/** A single planning pass: call `run` only once. */
export class Pass {
  readonly #snapshot: GroupSnapshot
  readonly #limits: Limits
  readonly #sequencer: Sequencer
  readonly #selector: Selector
  readonly #agents: readonly AgentCapacities[]
  readonly #byId: ReadonlyMap<string, AgentCapacities>
  readonly #allowed: AllowedAgents
  readonly #capacity: ResourceSlots
  readonly #placements: Placement[] = []
  readonly #reasons = new Map<SessionId, Reason>()
  readonly #changed: FreeCapacity[] = []
  // Caches: most requests are alike, and a result for one is valid for equal ones.
  readonly #explained = new Map<string, Reason>()
  readonly #candidates = new Map<string, Candidates>()
  readonly #classes = new Map<readonly AgentCapacities[], Map<string | null, CapacityClasses>>()
  /** Representatives, one for each set of interchangeable agents. */
  readonly #before = new Map<readonly AgentCapacities[], readonly FreeCapacity[]>()
  #turn: number
  /** Networks between hosts that are left. */
  #hostNetworks: number
  #reservation: Reservation | undefined
  /** Time at which the held capacity is needed; Infinity if unknown. */
  #heldUntil = Infinity
  #interruption: Interruption | undefined
  /** The sessions that `#interruption` stops; undefined while its agent is expected back. */
  #victims: Victims | undefined
  /** Sessions of the snapshot that may release slots, by agent. */
  readonly #holding: ReadonlyMap<string, readonly HoldingSession[]>
  /** Sessions of this priority or a lower one have nobody to interrupt. */
  readonly #lowestHolder: number
  /** Requests for which no set of sessions to interrupt is enough. */
  readonly #noVictims = new Set<string>()
  /** Needs without the devices that limits exclude, by their keys: equal ones are one object, which caches its answers. */
  readonly #needs = new Map<string, GpuNeed>()
  /** Cache by priority of the waiting session, and by agent. */
  readonly #givesByAgent = new Map<number, ReadonlyMap<string, Gives>>()

  constructor(snapshot: GroupSnapshot, sequencer: Sequencer, selector: Selector) {
    this.#snapshot = snapshot
    this.#limits = new Limits(snapshot.scopes)
    this.#sequencer = sequencer
    this.#selector = selector
    this.#agents = snapshot.agents.map(agent => new AgentCapacities(agent, snapshot.options))
    this.#byId = new Map(this.#agents.map(capacities => [capacities.agent.id, capacities]))
    const open = snapshot.active === false ? [] : this.#agents.filter(({ agent }) => canTake(agent, snapshot.options))
    this.#allowed = new AllowedAgents(open)
    this.#capacity = openCapacity(snapshot)
    this.#hostNetworks = snapshot.freeHostNetworks ?? Infinity
    this.#turn = snapshot.agents.reduce((last, { turn }) => Math.max(last, turn ?? 0), 0)
    const { holding = [], options } = snapshot
    this.#holding = Map.groupBy(holding, ({ agentId }) => agentId)
    const rules = options?.interruption
    const stoppable = rules ? holding.filter(one => mayStop(one, Infinity, rules)) : []
    this.#lowestHolder = stoppable.reduce((lowest, { priority }) => Math.min(lowest, priority), Infinity)
  }

  run(): Plan {
    const interrupting = this.#continueInterruption()
    const snapshot = this.#startInterrupting(interrupting, this.#startHolder(this.#snapshot, interrupting))
    const queue = this.#sequencer.start(snapshot, this.#capacity)
    const waiting: SessionId[] = []
    for (let session = queue.next(); session; session = queue.next()) {
      if (this.#place(session)) queue.placed(session)
      else if (session.id !== this.#reservation?.sessionId) {
        this.#wait(session)
        waiting.push(session.id)
      }
    }
    // A session that got the reservation or the interruption during this pass also comes next in the queue.
    const first = [this.#interruption, this.#reservation].flatMap(held => held?.sessionId ?? [])
    const ids = [...new Set([...first, ...waiting])]
    const reasons = new Map(ids.flatMap(id => entry(id, this.#reasons.get(id))))
    const [reservation, interruption] = [this.#reservation, this.#interruption]
    return { placements: this.#placements, reasons, queue: ids, reservation, interruption }
  }

  /** Free capacities that the session may use after `run`; one of each equivalence class. */
  freeCapacitiesFor(session: PendingSession): readonly FreeCapacity[] {
    return this.#classesFor(session).freeCapacities
  }

  /** The session without the devices that limits on models exclude now; the session itself if they exclude none. */
  within(session: PendingSession): PendingSession {
    const exclusions = this.#limits.exclusions(session)
    if (exclusions.length === 0) return session
    const need = { ...session.gpu, exclusions }
    return { ...session, gpu: remembered(this.#needs, needKey(need), () => need) }
  }

  /**
   * The devices that the session may have: for its request, and for each smaller amount of this slot with which limits on models leave more
   * of them. `most` is the largest amount for each kernel with which they are left.
   */
  needsOfLess(session: PendingSession, slot: SlotName): readonly { gpu: GpuNeed | undefined; most: number }[] {
    const amount = session.requested[slot] ?? 0
    const needs = [{ gpu: this.within(session).gpu, most: amount }]
    for (const most of this.#limits.lesserAmounts(session, slot)) {
      const less = this.within({ ...session, requested: { ...session.requested, [slot]: most } })
      needs.push({ gpu: less.gpu, most })
    }
    return needs
  }

  /** Amount of each limited slot that remains for the session after `run`; undefined: nothing at all. */
  leftFor(session: PendingSession): ResourceSlots | undefined {
    return this.#limits.left(session)
  }

  /** Current equivalence classes of the free capacities that the session may use: usually those of all open agents and one image. */
  #classesFor(session: PendingSession): CapacityClasses {
    const allowed = this.#allowed.for(session)
    const digest = session.imageDigest
    const byImage = remembered(this.#classes, allowed, () => new Map<string | null, CapacityClasses>())
    const { inTurn } = this.#selector
    const capacities = () => allowed.map(({ now }) => now)
    const classes = remembered(byImage, digest, () => new CapacityClasses(capacities(), { digest, inTurn }))
    classes.update(this.#changed)
    return classes
  }

  /**
   * Continues the interruption of the last plan, and holds the free capacity on its agent, before anything is placed. @returns the session
   * for which it interrupts; undefined without an interruption, and if its reason is gone
   */
  #continueInterruption(): PendingSession | undefined {
    const { interruption: last, pending, options, active } = this.#snapshot
    const found = last && pending.find(({ id }) => id === last.sessionId)
    const session = found && this.within(found)
    if (!last || !session || options?.interruption === undefined || active === false) return undefined
    if (session.interruptible === true || !this.#limits.allows(session) || isWaitingFor(session)) return undefined
    const announced = (this.#holding.get(last.agentId) ?? []).filter(
      ({ state, priority }) => state === 'announced' && priority < priorityOf(session),
    )
    const capacities = this.#allowed.for(session).find(({ agent }) => agent.id === last.agentId)
    if (!capacities) {
      // The agent may be back in a moment, like all agents after the start of a manager: change nothing meanwhile.
      if (!this.#awaitedFor(session, last)) return undefined
      this.#interruption = { ...last, victims: announced.map(({ id }) => id) }
      return session
    }
    const victims = chooseVictims(session, announced, this.#on(capacities))
    if (!victims) return undefined
    this.#interrupt(session, capacities, victims, last.at)
    return session
  }

  /** Tries to start the session for which others are interrupted. If it does not start, the free capacity stays held for it. */
  #startInterrupting(asked: PendingSession | undefined, snapshot: GroupSnapshot): GroupSnapshot {
    const interruption = this.#interruption
    // The session of the reservation was tried before, and may have taken what limits left for both.
    const session = asked && this.within(asked)
    if (!session || !interruption) return snapshot
    const rest = { ...snapshot, pending: snapshot.pending.filter(({ id }) => id !== session.id) }
    const capacities = this.#byId.get(interruption.agentId)
    const victims = this.#victims
    if (!capacities || !victims) {
      if (!this.#place(session)) return rest
      this.#interruption = undefined
      return withUsage(rest, session)
    }
    capacities.now.release()
    this.#changed.push(capacities.now)
    if (this.#limits.allows(session) && fits(capacities.now, session)) this.#take(session, capacities.now, false)
    else if (!this.#place(session)) {
      this.#interrupt(session, capacities, victims, interruption.at)
      return rest
    }
    this.#interruption = undefined
    return withUsage(rest, session)
  }

  #interrupt(session: PendingSession, capacities: AgentCapacities, victims: Victims, at: number): void {
    const ids = victims.sessions.map(({ id }) => id)
    this.#interruption = { sessionId: session.id, agentId: capacities.agent.id, victims: ids, at }
    this.#victims = victims
    capacities.now.hold(victims, totalOf(session), false)
    this.#changed.push(capacities.now)
    this.#reasons.set(session.id, interruptingReason(capacities.agent.name, ids.length, at))
  }

  #on(capacities: AgentCapacities): OnAgent {
    const { options } = this.#snapshot
    const { agentNow, agent } = capacities
    return { agentNow, holding: this.#holding.get(agent.id) ?? [], capacity: this.#capacity, options }
  }

  /**
   * Interrupts sessions for one that waits for capacity, if that helps. There is one interruption at a time in a group, on one
   * agent, and never where capacity is held for another session.
   */
  #beginInterruption(session: PendingSession): boolean {
    const { now, options, active } = this.#snapshot
    const rules = options?.interruption
    const priority = priorityOf(session)
    if (!rules || now === undefined || active === false || this.#interruption) return false
    if (session.interruptible === true || priority <= this.#lowestHolder) return false
    const key = `${requestKey(session, false)}|${priority}`
    if (this.#noVictims.has(key)) return false
    const total = totalOf(session)
    const mostByAgent = remembered(this.#givesByAgent, priority, () => this.#gives(priority, rules))
    let best: { capacities: AgentCapacities; victims: Victims } | undefined
    for (const capacities of this.#allowed.for(session)) {
      const gives = mostByAgent.get(capacities.agent.id)
      // This cheap check rules out most agents.
      if (!gives || capacities.now.isHeld || !gives.couldMake(capacities.now, total)) continue
      const victims = chooseVictims(session, gives.candidates, this.#on(capacities), best?.victims.sessions.length)
      if (!victims) continue
      // Sessions that are ending anyway release enough: nobody has to be interrupted.
      if (victims.sessions.length === 0) return false
      if (
        !best ||
        isLess(victims, best.victims) ||
        (sameAs(victims, best.victims) && capacities.agent.id < best.capacities.agent.id)
      )
        best = { capacities, victims }
    }
    if (!best) {
      this.#noVictims.add(key)
      return false
    }
    this.#interrupt(session, best.capacities, best.victims, now + rules.warnMs)
    return true
  }

  /** Slots that each agent's sessions would release for a session of this priority. */
  #gives(priority: number, rules: InterruptionRules): ReadonlyMap<string, Gives> {
    return new Map(
      [...this.#holding].map(([id, holding]) => [id, new Gives(holding, one => mayStop(one, priority, rules))]),
    )
  }

  /** Tries to start the session of the reservation before all others. If it does not start, its capacity stays held. */
  #startHolder(snapshot: GroupSnapshot, interrupting: PendingSession | undefined): GroupSnapshot {
    const { reservation, pending } = snapshot
    const found = reservation && pending.find(session => session.id === reservation.sessionId)
    const holder = found && this.within(found)
    if (!reservation || !holder || holder.id === interrupting?.id || !this.#sequencer.reserves) return snapshot
    // A limit, a dependency or the lack of a network blocks the session, so more capacity would not help it: hold nothing.
    if (!this.#limits.allows(holder) || isWaitingFor(holder)) return snapshot
    if (reservation.parts && this.#hostNetworks <= 0) return snapshot
    const rest = { ...snapshot, pending: pending.filter(({ id }) => id !== holder.id) }
    const capacities = this.#allowed.for(holder).find(({ agent }) => agent.id === reservation.agentId)
    if (!reservation.parts && capacities && fits(capacities.now, holder)) this.#take(holder, capacities.now, true)
    else if (!this.#place(holder)) {
      // With an interruption no reservation is needed: free capacity there is held for the session as well.
      if (this.#beginInterruption(holder)) return rest
      const kept = this.#isValid(reservation, holder) ? reservation : this.#reserve(holder, this.#allowed.for(holder))
      // No agent could hold the session even when empty: it queues like the others and gets its reason there.
      if (!kept || this.#agentsOf(kept).some(({ now }) => now.isHeld)) return snapshot
      this.#hold(kept, holder)
      return rest
    }
    return withUsage(rest, holder)
  }

  /** Whether each agent of the reservation still takes the session, or is expected back, and still has what is reserved there. */
  #isValid(reservation: Reservation, holder: PendingSession): boolean {
    const allowed = this.#allowed.for(holder)
    const several = reservation.parts && networked(allowed)
    return reservedParts(reservation, holder).every(part => {
      const on = (several ?? allowed).find(({ agent }) => agent.id === part.agentId)
      const place = on ?? this.#awaitedFor(holder, part)
      return place !== undefined && stillThere(part, place, { ...holder, clusterSize: part.kernels })
    })
  }

  /** Reserves one agent for the session or, if none could hold it, several. */
  #reserve(session: PendingSession, candidates: readonly AgentCapacities[]): Reservation | undefined {
    const onOne = reserve(session, candidates)
    return onOne ?? (mayCross(session) ? reserveGang(session, networked(candidates)) : undefined)
  }

  #agentsOf(reservation: Reservation): readonly AgentCapacities[] {
    const ids = reservation.parts?.map(({ agentId }) => agentId) ?? [reservation.agentId]
    return ids.flatMap(id => this.#byId.get(id) ?? [])
  }

  /**
   * The agent of the reservation while it is briefly disconnected, like all agents just after a manager has started. Which storages it has,
   * and whether it keeps sessions in, is not known then.
   */
  #awaitedFor(holder: PendingSession, { agentId }: Pick<Reservation, 'agentId'>): AgentCapacities | undefined {
    const capacities = this.#snapshot.active === false ? undefined : this.#byId.get(agentId)
    return capacities && isAwaited(capacities.agent, this.#snapshot.options)
      ? ableAgents({ ...holder, storage: undefined, restricted: undefined }, [capacities])[0]
      : undefined
  }

  #place(asked: PendingSession): boolean {
    if (!this.#limits.allows(asked) || isWaitingFor(asked)) return false
    const session = this.within(asked)
    const useHeld = this.#mayUseHeld(session)
    const key = requestKey(session, useHeld)
    if (this.#explained.has(key)) return false
    const classes = this.#classesFor(session)
    const request = { session, selector: this.#selector, capacity: this.#capacity, useHeld }
    const freeCapacity = remembered(this.#candidates, key, () => new Candidates(classes, request)).best()
    if (!freeCapacity) return this.#placeGang(session)
    this.#take(session, freeCapacity, useHeld)
    return true
  }

  /** Places a session for which no agent has enough alone, if its kernels may be on several. */
  #placeGang(session: PendingSession): boolean {
    if (!mayCross(session) || this.#hostNetworks <= 0) return false
    const capacities = networked(this.#allowed.for(session)).map(({ now }) => now)
    const rank = this.#selector.rank(session, this.#capacity)
    const parts = chooseGang({ session, rank, spread: this.#snapshot.options?.spreadClusters }, capacities)
    if (!parts) return false
    const taken = parts.flatMap(({ freeCapacity, kernels: count }) => {
      const kernels = Array.from({ length: count }, () => freeCapacity.take(session.requested, false, session.gpu))
      this.#note(session, freeCapacity, kernels)
      return kernels.map(devices => ({ devices, agent: freeCapacity.agent }))
    })
    const kernels = taken.map(({ devices }) => devices)
    const hosts = taken.map(({ agent }) => agent.id)
    const [agentId] = hosts
    if (agentId === undefined) return false
    this.#limits.take(
      session,
      taken.flatMap(({ devices, agent }) => withKinds(devices, agent)),
    )
    this.#hostNetworks--
    this.#placements.push({
      sessionId: session.id,
      agentId,
      requested: totalOf(session),
      devices: kernels.flat(),
      kernels,
      hosts,
    })
    return true
  }

  /** Notes that these kernels of the session, with their devices, were placed on the agent. */
  #note(session: PendingSession, freeCapacity: FreeCapacity, kernels: readonly (readonly DeviceAllocation[])[]): void {
    const { agent } = freeCapacity
    const slots = totalOf({ requested: session.requested, clusterSize: kernels.length })
    const latestEnd = this.#latestEndOn(agent, session)
    this.#byId.get(agent.id)?.placed.push({ slots, devices: kernels.flat(), latestEnd })
    freeCapacity.turn = ++this.#turn
    this.#changed.push(freeCapacity)
  }

  #take(session: PendingSession, freeCapacity: FreeCapacity, useHeld: boolean): void {
    const { id, gpu, clusterSize = 1 } = session
    const requested = totalOf(session)
    const kernels = Array.from({ length: clusterSize }, () => freeCapacity.take(session.requested, useHeld, gpu))
    const devices = kernels.flat()
    this.#limits.take(session, withKinds(devices, freeCapacity.agent))
    this.#note(session, freeCapacity, kernels)
    const placement = { sessionId: id, agentId: freeCapacity.agent.id, requested, devices }
    this.#placements.push(clusterSize === 1 ? placement : { ...placement, kernels })
  }

  #wait(asked: PendingSession): void {
    const session = this.within(asked)
    const fitsEmpty = (one: PendingSession) => this.#allowed.couldHold(one, this.#allowed.for(one))
    const isBarred = session !== asked && !fitsEmpty(session) && fitsEmpty(asked)
    const limit =
      this.#limits.explain(asked) ?? dependencyReason(asked) ?? (isBarred ? this.#modelReason(asked) : undefined)
    if (limit) {
      this.#reasons.set(session.id, limit)
      return
    }
    const key = requestKey(session, this.#mayUseHeld(session))
    const explained = session === asked || fitsEmpty(session) ? session : asked
    const reason = this.#explained.get(key) ?? this.#explain(explained)
    if (FOR_CAPACITY.has(reason.code) && this.#beginInterruption(session)) return
    if (this.#isDue(session, reason)) {
      // An agent holds capacity for one session.
      const free = this.#allowed.for(session).filter(({ now }) => !now.isHeld)
      const reservation = this.#reserve(session, free)
      if (reservation) {
        this.#hold(reservation, session)
        return
      }
    }
    this.#explained.set(key, reason)
    // Another GPU would do as well, but what is free now is of a model of which the session may have no more.
    const isLimited = session !== asked && this.#fitsNow(asked)
    this.#reasons.set(session.id, (isLimited ? this.#modelReason(asked) : undefined) ?? reason)
  }

  #fitsNow(session: PendingSession): boolean {
    const useHeld = this.#mayUseHeld(session)
    return this.#classesFor(session).freeCapacities.some(freeCapacity => fits(freeCapacity, session, useHeld))
  }

  #modelReason(asked: PendingSession): Reason | undefined {
    const devices = this.#allowed.for(asked).flatMap(({ agent }) => devicesAccepted(asked, agent))
    return this.#limits.explainModels(asked, devices)
  }

  #explain(session: PendingSession): Reason {
    if (this.#snapshot.active === false) return closedReason(this.#snapshot)
    return mayCross(session) ? this.#explainGang(session) : this.#explainOne(session)
  }

  /** The reason of a session that may use several agents: if not even one of its kernels fits anywhere, that of one kernel. */
  #explainGang(session: PendingSession): Reason {
    const allowed = this.#allowed.for(session)
    const empty = this.#allowed.emptyOf(allowed)
    const oneKernel = { ...session, clusterSize: 1 }
    if (!empty.some(capacity => fits(capacity, oneKernel))) return this.#explainOne(oneKernel)
    const able = networked(allowed)
    const room = {
      now: roomFor(
        session,
        able.map(({ now }) => now),
      ),
      empty: roomFor(
        session,
        able.map(capacities => capacities.empty),
      ),
    }
    // As if it had to be on one agent, where that is the only way.
    const fitsOne = empty.some(capacity => fits(capacity, session))
    const hasNetwork = this.#hostNetworks > 0
    return gangReason(session, { networked: able.length, room, fitsOne, hasNetwork }) ?? this.#explainOne(session)
  }

  #explainOne(session: PendingSession): Reason {
    const allowed = this.#allowed.for(session)
    const classes = this.#classesFor(session)
    const before = remembered(this.#before, allowed, () => kindsOf(allowed.map(({ before }) => before)))
    // The session was not placed, so the only free capacity into which it fits must be the held one.
    const held = (this.#reservation ? this.#agentsOf(this.#reservation) : []).map(({ now }) => now)
    const kept = held.find(one => classes.has(one) && fits(one, session, true))
    return explain({
      session,
      agents: this.#snapshot.agents,
      options: this.#snapshot.options,
      empty: this.#allowed.emptyOf(this.#agents),
      open: this.#allowed.emptyOf(this.#allowed.open),
      holders: this.#allowed.emptyOf(this.#allowed.able(session)),
      freeCapacities: classes.freeCapacities,
      free: classes.freeFor(session.gpu),
      fittedBefore: before.some(freeCapacity => fits(freeCapacity, session)),
      kept: kept?.agent.name,
    })
  }

  /** Whether the session has been blocked on capacity for long enough, and no session has the reservation. */
  #isDue(session: PendingSession, { code }: Reason): boolean {
    const { now, options } = this.#snapshot
    if (this.#reservation || !this.#sequencer.reserves || now === undefined) return false
    if (!FOR_CAPACITY.has(code)) return false
    return now - session.enqueuedAt >= (options?.reserveAfterMs ?? RESERVE_AFTER_MS)
  }

  #hold(reservation: Reservation, session: PendingSession): void {
    const held = reservedParts(reservation, session).flatMap(part => {
      const capacities = this.#byId.get(part.agentId)
      return capacities ? [{ part, capacities, total: totalOf({ ...session, clusterSize: part.kernels }) }] : []
    })
    const [first] = held
    if (!first) return
    this.#reservation = reservation
    const starts = held.map(({ part, capacities: { agentNow }, total }) =>
      agentNow.connected ? startOf(part, agentNow, total) : Infinity,
    )
    this.#heldUntil = Math.max(...starts)
    const room = held.reduce((sum, { part: { kernels: clusterSize }, capacities: { now } }) => {
      return sum + mostKernels(now, { ...session, clusterSize })
    }, 0)
    for (const { part, capacities, total } of held) {
      capacities.now.hold(part, total)
      this.#changed.push(capacities.now)
    }
    const agents = held.map(({ capacities }) => capacities.agentNow)
    const reason = reservation.parts
      ? reservedGangReason(agents, { room, needed: session.clusterSize ?? 1 }, this.#heldUntil)
      : reservedReason(first.capacities.agentNow, { requested: first.total, gpu: session.gpu }, this.#heldUntil)
    this.#reasons.set(session.id, reason)
  }

  /** Whether the session ends, at the latest, before the session of the reservation can start. */
  #mayUseHeld(session: PendingSession): boolean {
    const held = this.#reservation ? this.#agentsOf(this.#reservation) : []
    if (held.length === 0 || !Number.isFinite(this.#heldUntil)) return false
    return held.every(({ agent }) => {
      const latestEnd = this.#latestEndOn(agent, session)
      return latestEnd !== null && latestEnd <= this.#heldUntil
    })
  }

  /** Latest time at which the session would leave the agent if it were placed now; null if unknown. */
  #latestEndOn({ images }: AgentSnapshot, { imageDigest, longestHold }: PendingSession): number | null {
    const { now } = this.#snapshot
    if (now === undefined || !longestHold) return null
    const isThere = imageDigest !== null && images.has(imageDigest)
    return now + (isThere ? longestHold.imageThereMs : longestHold.imagePulledMs)
  }
}

const priorityOf = ({ priority = 0 }: PendingSession) => priority

/** Whether fewer sessions are stopped, or equally many that lose less work. */
const isLess = (a: Victims, b: Victims) =>
  a.sessions.length - b.sessions.length < 0 || (a.sessions.length === b.sessions.length && a.lost < b.lost)
const sameAs = (a: Victims, b: Victims) => a.sessions.length === b.sessions.length && a.lost === b.lost

/** Devices that the session accepts, if it may have any of them. */
const devicesAccepted = ({ gpu, requested }: PendingSession, { devices }: AgentSnapshot): readonly KindOfDevice[] =>
  devices.filter(({ slot, kind }) => (requested[slot] ?? 0) > 0 && mayGive(gpu, kind))

function withKinds(given: readonly DeviceAllocation[], { devices }: AgentSnapshot) {
  return given.map(({ uuid, slot, amount }) => ({ slot, amount, kind: devices.find(one => one.uuid === uuid)?.kind }))
}

/** The snapshot with the usage of a session that was placed before the queue. */
function withUsage(snapshot: GroupSnapshot, session: PendingSession): GroupSnapshot {
  const { ownerId, projectId = null } = session
  return { ...snapshot, usage: [...(snapshot.usage ?? []), { ownerId, projectId, slots: totalOf(session) }] }
}

const entry = (id: SessionId, reason: Reason | undefined) => (reason ? [[id, reason] as const] : [])
