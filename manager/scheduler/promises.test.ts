import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, type AgentId, SLOT_NAMES, subtractSlots } from '#manager/contract'
import { DEFAULT_TIMINGS } from './timings.ts'
import { latestEndOf, longestHold } from './latest-end.ts'
import {
  type AgentSnapshot,
  concentrated,
  fifo,
  type PendingSession,
  plan,
  type Placement,
  type Reservation,
} from './plan/index.ts'
import { anAgent, aSession, busy } from './plan/plan-fixtures.ts'
import { type DeviceAllocation } from './plan/snapshot.ts'

const SECOND = 1000
const HALF = 30 * SECOND
const MINUTE = 60 * SECOND
const AT_MOST = 2 * 60 * MINUTE
/** Time from a pass that has placed something to the next one. */
const SOON = 20 * SECOND
/** Time after which a disconnected agent counts as lost. */
const LOST_AFTER = 2 * MINUTE
const RESERVE_AFTER = 5 * MINUTE
const { preparingMs, pullingMs, replyMarginMs } = DEFAULT_TIMINGS

interface Ask {
  readonly at: number
  readonly cpu: number
  readonly gpus: number
  readonly shares: number
  readonly image: string
  /** Minutes. `used` is the part of the lifetime that is really used; `known`: whether the scheduler knows the lifetime. */
  readonly lifetime: number
  readonly used: number
  readonly known: boolean
  /** Real durations within the allowed ones: sending, start and end in half minutes, the pull in minutes. */
  readonly sending: number
  readonly starting: number
  readonly pulling: number
  readonly ending: number
}

const ask: fc.Arbitrary<Ask> = fc.record({
  at: fc.nat(30),
  cpu: fc.integer({ min: 1, max: 4 }),
  gpus: fc.nat(2),
  shares: fc.nat(120),
  image: fc.constantFrom('a', 'a', 'b'),
  lifetime: fc.integer({ min: 1, max: 40 }),
  used: fc.integer({ min: 1, max: 40 }),
  known: fc.constantFrom(true, true, false),
  sending: fc.nat(1),
  starting: fc.nat(2),
  pulling: fc.integer({ min: 1, max: 30 }),
  ending: fc.nat(2),
})

/** A period, in minutes, in which an agent is not connected. */
const absence = fc.record({ agent: fc.nat(1), from: fc.nat(80), minutes: fc.integer({ min: 1, max: 4 }) })
type Absence = typeof absence extends fc.Arbitrary<infer T> ? T : never

interface Live {
  readonly placement: Placement
  readonly session: PendingSession
  readonly ask: Ask
  readonly placedAt: number
  readonly sentAt: number
  readonly startBy: number
  readonly startedAt: number
  readonly endsAt: number
  readonly goneAt: number
}

function begin(placement: Placement, session: PendingSession, ask: Ask, now: number, isThere: boolean): Live {
  const sentAt = now + ask.sending * HALF
  const pulls = (most: number) => (isThere ? 0 : most)
  const startedAt = sentAt + Math.min(preparingMs, ask.starting * HALF) + pulls(ask.pulling * MINUTE)
  const endsAt = startedAt + Math.min(ask.lifetime, ask.used) * MINUTE
  return {
    placement,
    session,
    ask,
    // The row is written a moment after the plan.
    placedAt: now + SECOND,
    sentAt,
    startBy: sentAt + preparingMs + pulls(pullingMs) + replyMarginMs,
    startedAt,
    endsAt,
    goneAt: endsAt + ask.ending * HALF,
  }
}

/** The occupant that the scheduler derives from the database's row of a kernel. */
function occupantOf(one: Live, now: number, images: ReadonlySet<string>) {
  const { slots, devices } = { slots: one.placement.requested, devices: one.placement.devices }
  if (!one.ask.known) return { slots, devices, latestEnd: null }
  const expiresAt = now < one.startedAt ? null : new Date(one.startedAt + one.ask.lifetime * MINUTE)
  const statusAt = [one.endsAt, one.startedAt, one.sentAt].find(at => at <= now) ?? one.placedAt
  const kernel = {
    agentId: one.placement.agentId,
    slots,
    devices,
    imageDigest: one.ask.image,
    maxLifetimeSeconds: one.ask.lifetime * 60,
    expiresAt,
    startBy: now < one.sentAt ? null : new Date(one.startBy),
    statusAt: new Date(Math.max(one.placedAt, statusAt)),
    now: new Date(now),
  }
  return { slots, devices, latestEnd: latestEndOf(kernel, images) }
}

/**
 * Simulates sessions that come, start, run and end, and agents that disconnect and come back, minute by minute. Each pass is
 * planned from the state at its time. Calls `check` with every pass.
 */
function simulate({ asks, agentCount, absences }: Scenario, check: (pass: SimulatedPass) => void): void {
  const images = Array.from({ length: agentCount }, () => new Set(['a']))
  const agents = images.map((held, n) =>
    anAgent(n, { cpu: 6000, 'cuda.device': 2, 'cuda.shares': 200 }, { images: held }),
  )
  const numberOf = new Map(agents.map(({ id }, n) => [id, n]))
  const imagesOn = (id: AgentId) => images[numberOf.get(id) ?? 0] ?? new Set<string>()
  const sessions = asks.map(({ at, cpu, gpus, shares, lifetime, known, image }, n) => {
    const requested = { cpu: cpu * 1000, 'cuda.device': gpus, 'cuda.shares': shares }
    const hold = known ? longestHold(lifetime * 60) : null
    const more = { enqueuedAt: at * MINUTE, imageDigest: image, pullable: true, longestHold: hold }
    return aSession(n, requested, more)
  })
  const awaySince = (agent: number, now: number): number | undefined => {
    const hit = absences.find(
      one => one.agent === agent && one.from * MINUTE <= now && now < (one.from + one.minutes) * MINUTE,
    )
    return hit && hit.from * MINUTE
  }
  const waiting = new Map<string, PendingSession>()
  let live: Live[] = []
  let reservation: Reservation | undefined
  const lastCome = Math.max(...asks.map(({ at }) => at)) * MINUTE
  const pass = (now: number): boolean => {
    for (const one of live) if (one.startedAt <= now) imagesOn(one.placement.agentId).add(one.ask.image)
    // A disconnected agent cannot report that a container is gone.
    live = live.filter(
      one => one.goneAt > now || awaySince(numberOf.get(one.placement.agentId) ?? 0, now) !== undefined,
    )
    const snapshot = {
      now,
      reservation,
      pending: [...waiting.values()],
      options: { reserveAfterMs: RESERVE_AFTER },
      agents: agents.map((agent, n): AgentSnapshot => {
        const since = awaySince(n, now)
        const here = live.filter(one => one.placement.agentId === agent.id)
        const occupants = here.map(one => occupantOf(one, now, imagesOn(agent.id)))
        const lost = since !== undefined && now - since >= LOST_AFTER
        return { ...busy(agent, occupants), connected: since === undefined, lost }
      }),
    }
    const result = plan(snapshot, fifo, concentrated)
    check({ snapshot, result, live })
    reservation = result.reservation
    for (const placement of result.placements) {
      const session = waiting.get(placement.sessionId)
      const ask = asks[Number(placement.sessionId.slice(-12))]
      if (!session || !ask) throw new Error('placed what does not wait')
      waiting.delete(placement.sessionId)
      live.push(begin(placement, session, ask, now, imagesOn(placement.agentId).has(ask.image)))
    }
    return result.placements.length > 0
  }
  for (let now = 0; now <= AT_MOST; now += MINUTE) {
    for (const session of sessions) if (session.enqueuedAt === now) waiting.set(session.id, session)
    if (now > lastCome && waiting.size === 0) return
    if (pass(now)) pass(now + SOON)
  }
}

interface Scenario {
  readonly asks: readonly Ask[]
  readonly agentCount: number
  readonly absences: readonly Absence[]
}

interface SimulatedPass {
  readonly snapshot: Parameters<typeof plan>[0] & { readonly now: number }
  readonly result: ReturnType<typeof plan>
  readonly live: readonly Live[]
}

const scenario: fc.Arbitrary<Scenario> = fc.record({
  asks: fc.array(ask, { minLength: 5, maxLength: 20 }),
  agentCount: fc.integer({ min: 1, max: 2 }),
  absences: fc.array(absence, { maxLength: 4 }),
})

describe('two hours of random starts, pulls, ends and absences', () => {
  test('the reservation stays on its agent until its session starts, or the agent is lost', () => {
    fc.assert(
      fc.property(scenario, one => {
        let last: Reservation | undefined
        simulate(one, ({ snapshot, result: { reservation, queue } }) => {
          const isLost = snapshot.agents.find(agent => agent.id === last?.agentId)?.lost
          if (last && !isLost && queue.includes(last.sessionId)) expect(reservation).toBe(last)
          last = reservation
        })
      }),
      { numRuns: 100 },
    )
  })

  test('no later placement delays the session of the reservation', () => {
    fc.assert(
      fc.property(scenario, one => {
        // Sessions present when the reservation was made: once they are gone, no other session may delay it.
        let made: { reservation: Reservation; present: ReadonlySet<string>; latest: number } | undefined
        simulate(one, ({ snapshot, result, live }) => {
          const { reservation } = result
          if (!reservation) return void (made = undefined)
          if (made?.reservation !== reservation) {
            // Sessions placed in the same pass include those that were ahead of it.
            const there = [...live.map(({ placement }) => placement), ...result.placements]
            made = { reservation, present: new Set(there.map(({ sessionId }) => sessionId)), latest: 0 }
          } else if (isConnected(snapshot, reservation)) {
            const gone = !live.some(({ placement }) => made?.present.has(placement.sessionId))
            // Sessions on lent capacity end at the promised time at the latest, which may become known only later.
            expect(gone && snapshot.now >= made.latest).toBe(false)
          }
          made = { ...made, latest: Math.max(made.latest, promisedIn(result)) }
        })
      }),
      { numRuns: 100 },
    )
  })

  test('a promised time is kept, and never moves back while the agent is there', () => {
    fc.assert(
      fc.property(scenario, one => {
        let promise: { id: string; by: number } | undefined
        simulate(one, ({ snapshot, result }) => {
          const { reservation } = result
          if (!reservation || !isConnected(snapshot, reservation)) return void (promise = undefined)
          const by = promisedIn(result)
          if (promise?.id === reservation.sessionId && promise.by > 0) {
            expect(snapshot.now).toBeLessThan(promise.by)
            expect(by > 0 && by <= promise.by).toBe(true)
          }
          promise = { id: reservation.sessionId, by }
        })
      }),
      { numRuns: 100 },
    )
  })

  test('no waiting session fits into room that is free and not reserved', () => {
    fc.assert(
      fc.property(scenario, one => {
        simulate(one, ({ snapshot, result }) => {
          for (const session of snapshot.pending) {
            if (!result.queue.includes(session.id) || session.id === result.reservation?.sessionId) continue
            for (const agent of snapshot.agents) {
              if (!agent.connected || agent.id === result.reservation?.agentId) continue
              const here = result.placements.filter(p => p.agentId === agent.id)
              const free = subtractSlots(agent.capacity, here.map(p => p.requested).reduce(addSlots, agent.occupied))
              const fits = SLOT_NAMES.every(slot => (session.requested[slot] ?? 0) <= (free[slot] ?? 0))
              const shares = sharesFit(agent, here, session.requested['cuda.shares'] ?? 0)
              expect(fits && shares).toBe(false)
            }
          }
        })
      }),
      { numRuns: 50 },
    )
  })
})

const isConnected = ({ agents }: SimulatedPass['snapshot'], { agentId }: Reservation) =>
  agents.some(agent => agent.id === agentId && agent.connected)

/** The promised start time; 0 if none is promised. */
function promisedIn({ reasons, reservation }: SimulatedPass['result']): number {
  const expectedBy = reservation && reasons.get(reservation.sessionId)?.expectedBy
  return expectedBy === undefined ? 0 : Date.parse(expectedBy)
}

function sharesFit(agent: AgentSnapshot, here: readonly Placement[], amount: number): boolean {
  const given: DeviceAllocation[] = here.flatMap(p => [...p.devices])
  const free = agent.devices
    .filter(device => device.slot === 'cuda.shares')
    .map(device => device.total - device.occupied - sumOf(given.filter(d => d.uuid === device.uuid)))
  const whole = free.filter(room => room === 100).length
  const parts = Math.floor(amount / 100)
  if (whole < parts) return false
  const rest = free.toSorted((a, b) => b - a).slice(parts)
  return amount % 100 === 0 || rest.some(room => room >= amount % 100)
}

const sumOf = (devices: readonly DeviceAllocation[]) => devices.reduce((sum, device) => sum + device.amount, 0)
