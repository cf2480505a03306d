import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, type ResourceSlots, SLOT_NAMES, subtractSlots } from '#manager/contract'
import { type AgentSnapshot, concentrated, drf, fifo, lifo, type Occupant, type PendingSession, plan } from './index.ts'
import { agentId, anAgent, aSession, sessionId } from './plan-fixtures.ts'
import { type DeviceAllocation, type Placement, type Reservation } from './snapshot.ts'

const MINUTE = 60_000
const NOW = 100 * MINUTE

/** Something that runs on the agent: whole GPUs by their number, and until when at the latest. */
const running = (slots: ResourceSlots, gpus: readonly number[], latestEnd: number | null): Occupant => ({
  slots,
  devices: gpus.map(n => ({ uuid: `cuda.device-${n}`, slot: 'cuda.device', amount: 1 })),
  latestEnd,
})

function busy(agent: AgentSnapshot, occupants: readonly Occupant[]): AgentSnapshot {
  const given = occupants.flatMap(occupant => occupant.devices)
  return {
    ...agent,
    occupants,
    occupied: occupants.map(occupant => occupant.slots).reduce(addSlots, {}),
    devices: agent.devices.map(device => ({
      ...device,
      occupied: given.filter(d => d.uuid === device.uuid).reduce((sum, d) => sum + d.amount, 0),
    })),
  }
}

const host = anAgent(1, { cpu: 8000, 'cuda.device': 4 })
const large = aSession(1, { cpu: 4000, 'cuda.device': 4 }, { enqueuedAt: NOW - 11 * MINUTE })
const halfBusy = (end: number | null) => busy(host, [running({ cpu: 2000, 'cuda.device': 2 }, [0, 1], end)])

describe('the one reservation', () => {
  test('goes to a session that was blocked on capacity for ten minutes; others are kept off what it needs', () => {
    const small = aSession(2, { cpu: 1000, 'cuda.device': 1 }, { enqueuedAt: NOW })
    const result = plan({ agents: [halfBusy(null)], pending: [large, small], now: NOW }, fifo, concentrated)
    expect(result.placements).toEqual([])
    expect(result.reservation).toMatchObject({ sessionId: large.id, agentId: agentId(1) })
    expect(result.queue).toEqual([large.id, small.id])
    expect(result.reasons.get(large.id)).toMatchObject({
      code: 'reserved',
      message:
        'It is next: what becomes free on agent agent-1 is held for it. When is unknown: waits for 2 GPU on host agent-1.',
      needed: { 'cuda.device': '4' },
      available: { 'cuda.device': '2' },
    })
    expect(result.reasons.get(small.id)).toMatchObject({
      code: 'queued_behind',
      message: 'What is free on agent agent-1 is held for a session that has waited longer.',
    })
  })

  test('a younger one holds nothing, and neither does anybody under LIFO', () => {
    const young = { ...large, enqueuedAt: NOW - 9 * MINUTE }
    expect(
      plan({ agents: [halfBusy(null)], pending: [young], now: NOW }, fifo, concentrated).reservation,
    ).toBeUndefined()
    expect(
      plan({ agents: [halfBusy(null)], pending: [large], now: NOW }, lifo, concentrated).reservation,
    ).toBeUndefined()
    expect(plan({ agents: [halfBusy(null)], pending: [large], now: NOW }, drf, concentrated).reservation).toBeDefined()
  })

  test('what it does not need is given out as before', () => {
    const cpuOnly = (n: number) => aSession(n, { cpu: 1000 }, { enqueuedAt: NOW })
    const pending = [large, cpuOnly(2), cpuOnly(3), cpuOnly(4)]
    const result = plan({ agents: [halfBusy(null)], pending, now: NOW }, fifo, concentrated)
    // 8 CPU less 2 in use less 4 that are held.
    expect(result.placements.map(p => p.sessionId)).toEqual([sessionId(2), sessionId(3)])
  })

  test('held capacity is lent to who is over before it is needed, at the latest', () => {
    const short = { ...aSession(2, { 'cuda.device': 2 }, { enqueuedAt: NOW }), maxLifetimeMs: 30 * MINUTE }
    const long = { ...aSession(3, { 'cuda.device': 1 }, { enqueuedAt: NOW }), maxLifetimeMs: 31 * MINUTE }
    const agents = [halfBusy(NOW + 30 * MINUTE)]
    const result = plan({ agents, pending: [large, long, short], now: NOW }, fifo, concentrated)
    expect(result.placements.map(p => p.sessionId)).toEqual([short.id])
    expect(result.reasons.get(large.id)).toMatchObject({ expectedBy: new Date(NOW + 30 * MINUTE).toISOString() })
  })

  test('is not kept for a session whose owner, project or domain is deactivated, and comes back with it', () => {
    const small = aSession(2, { cpu: 1000, 'cuda.device': 1 }, { enqueuedAt: NOW })
    const agents = [halfBusy(null)]
    const { reservation } = plan({ agents, pending: [large], now: NOW }, fifo, concentrated)
    for (const inactive of ['user', 'group', 'domain'] as const) {
      const pending = [{ ...large, inactive }, small]
      const shut = plan({ agents, pending, now: NOW, reservation }, fifo, concentrated)
      expect(shut.reservation).toBeUndefined()
      expect(shut.placements.map(({ sessionId: id }) => id)).toEqual([small.id])
    }
    const again = plan({ agents, pending: [large, small], now: NOW }, fifo, concentrated)
    expect(again.reservation).toMatchObject({ sessionId: large.id })
  })

  test('goes to the agent on which the session starts first', () => {
    const other = { ...halfBusy(NOW + MINUTE), id: agentId(2), name: 'agent-2' }
    const result = plan({ agents: [halfBusy(NOW + 5 * MINUTE), other], pending: [large], now: NOW }, fifo, concentrated)
    expect(result.reservation?.agentId).toBe(agentId(2))
  })

  test('stays where it is, and is over when its session starts, even on another agent', () => {
    const devices = host.devices.map(({ uuid, slot, total }) => ({ uuid, slot, amount: total }))
    const reservation: Reservation = { sessionId: large.id, agentId: agentId(1), devices }
    const other = { ...halfBusy(NOW + MINUTE), id: agentId(2), name: 'agent-2' }
    const before = { agents: [halfBusy(null), other], pending: [large], now: NOW, reservation }
    expect(plan(before, fifo, concentrated).reservation).toEqual(reservation)
    const free = { ...other, occupied: {}, occupants: [], devices: host.devices }
    const after = plan({ ...before, agents: [halfBusy(null), free] }, fifo, concentrated)
    expect(after.reservation).toBeUndefined()
    expect(after.placements).toMatchObject([{ sessionId: large.id, agentId: agentId(2) }])
  })

  describe('of which the agent is away', () => {
    const devices = host.devices.map(({ uuid, slot, total }) => ({ uuid, slot, amount: total }))
    const reservation: Reservation = { sessionId: large.id, agentId: agentId(1), devices }
    const other = { ...halfBusy(NOW + MINUTE), id: agentId(2), name: 'agent-2' }
    const away = { ...halfBusy(NOW + MINUTE), connected: false }
    const pass = (agents: readonly AgentSnapshot[], pending = [large]) =>
      plan({ agents, pending, now: NOW, reservation }, fifo, concentrated)

    test('for a moment stays where it is, and says that no time is known', () => {
      // A manager that has just started hears from one agent after the other.
      for (const agents of [[away], [away, other], [away, { ...other, connected: false }]]) {
        const { reservation: kept, reasons, queue } = pass(agents)
        expect(kept).toBe(reservation)
        expect(queue).toEqual([large.id])
        expect(reasons.get(large.id)).toEqual({
          code: 'reserved',
          message:
            'It is next: what becomes free on agent agent-1 is held for it. When is unknown: agent-1 is not connected at the moment.',
        })
      }
    })

    test('for a moment keeps nobody from another agent, its session least of all', () => {
      const free = anAgent(2, { cpu: 8000, 'cuda.device': 4 })
      const small = aSession(2, { cpu: 1000, 'cuda.device': 1 }, { enqueuedAt: NOW })
      const result = pass([away, free], [large, small])
      expect(result.placements).toMatchObject([{ sessionId: large.id, agentId: agentId(2) }])
      expect(result.reservation).toBeUndefined()
      expect(pass([away, other], [large, small]).placements).toMatchObject([{ sessionId: small.id }])
    })

    test.each<[string, readonly AgentSnapshot[]]>([
      ['forgotten', []],
      ['lost', [{ ...away, lost: true }]],
      ['paused', [{ ...away, schedulable: false }]],
      ['without the image', [{ ...away, images: new Set() }]],
      ['without the devices', [{ ...away, devices: [] }]],
    ])('and %s moves on, or is over where nobody else could ever hold it', (_why, agents) => {
      expect(pass([...agents, other]).reservation?.agentId).toBe(agentId(2))
      expect(pass(agents).reservation).toBeUndefined()
    })

    test('is over with its resource group closed', () => {
      const closed = { agents: [away], pending: [large], now: NOW, reservation, active: false }
      expect(plan(closed, fifo, concentrated).reservation).toBeUndefined()
    })
  })
})

interface Ask {
  readonly at: number
  readonly cpu: number
  readonly gpus: number
  readonly shares: number
  /** Minutes; how much of it is really used; whether anybody knows it. */
  readonly lifetime: number
  readonly used: number
  readonly known: boolean
}

const ask = fc.record({
  at: fc.nat(30),
  cpu: fc.integer({ min: 1, max: 4 }),
  gpus: fc.nat(2),
  shares: fc.nat(120),
  lifetime: fc.integer({ min: 1, max: 25 }),
  used: fc.integer({ min: 1, max: 25 }),
  known: fc.boolean(),
})

interface Live {
  readonly placement: Placement
  readonly endsAt: number
  readonly latestEnd: number | null
}

/**
 * Minute by minute: sessions come, run and end; each pass is planned from what then runs. Calls `check` with every pass.
 */
function simulate(asks: readonly Ask[], agentCount: number, check: (pass: SimulatedPass) => void): void {
  const agents = Array.from({ length: agentCount }, (_, n) =>
    anAgent(n, { cpu: 6000, 'cuda.device': 2, 'cuda.shares': 200 }),
  )
  const sessions = asks.map(({ at, cpu, gpus, shares, lifetime, known }, n): PendingSession => {
    const requested = { cpu: cpu * 1000, 'cuda.device': gpus, 'cuda.shares': shares }
    return { ...aSession(n, requested, { enqueuedAt: at * MINUTE }), maxLifetimeMs: known ? lifetime * MINUTE : null }
  })
  const waiting = new Map<string, PendingSession>()
  let live: Live[] = []
  let reservation: Reservation | undefined
  for (let minute = 0; minute < 120; minute++) {
    const now = minute * MINUTE
    for (const session of sessions) if (session.enqueuedAt === now) waiting.set(session.id, session)
    live = live.filter(one => one.endsAt > now)
    const snapshot = {
      now,
      reservation,
      pending: [...waiting.values()],
      options: { reserveAfterMs: 5 * MINUTE },
      agents: agents.map(agent =>
        busy(
          agent,
          live
            .filter(one => one.placement.agentId === agent.id)
            .map(({ placement: { requested: slots, devices }, latestEnd }) => ({ slots, devices, latestEnd })),
        ),
      ),
    }
    const result = plan(snapshot, fifo, concentrated)
    check({ snapshot, result, live })
    reservation = result.reservation
    for (const placement of result.placements) {
      waiting.delete(placement.sessionId)
      const { lifetime, used, known } = asks[Number(placement.sessionId.slice(-12))] as Ask
      live.push({
        placement,
        endsAt: now + Math.min(lifetime, used) * MINUTE,
        latestEnd: known ? now + lifetime * MINUTE : null,
      })
    }
  }
}

interface SimulatedPass {
  readonly snapshot: Parameters<typeof plan>[0] & { readonly now: number }
  readonly result: ReturnType<typeof plan>
  readonly live: readonly Live[]
}

describe('through any two hours', () => {
  const scenario = [fc.array(ask, { minLength: 5, maxLength: 30 }), fc.integer({ min: 1, max: 2 })] as const

  test('nothing that is placed later delays the session of the reservation', () => {
    fc.assert(
      fc.property(...scenario, (asks, agentCount) => {
        // Who was there when the reservation was made; nothing else may be in its way once they are gone.
        let made: { reservation: Reservation; present: ReadonlySet<string>; latest: number } | undefined
        simulate(asks, agentCount, ({ snapshot, result, live }) => {
          const { reservation } = result
          if (made?.reservation.sessionId !== reservation?.sessionId) made = undefined
          if (made && reservation) {
            expect(reservation).toEqual(made.reservation)
            const gone = !live.some(one => made?.present.has(one.placement.sessionId))
            // Loans run until the promised moment at the latest, which may become known only later.
            expect(gone && snapshot.now >= made.latest).toBe(false)
            const by = promised(result.reasons.get(reservation.sessionId)?.expectedBy)
            made = { ...made, latest: Math.max(made.latest, by) }
          }
          if (reservation && !made) {
            // Among those placed in the same pass are those that were ahead of it.
            const there = [...live.map(one => one.placement), ...result.placements]
            const present = new Set(there.map(placement => placement.sessionId))
            made = { reservation, present, latest: promised(result.reasons.get(reservation.sessionId)?.expectedBy) }
          }
          if (!reservation) made = undefined
        })
      }),
      { numRuns: 500 },
    )
  })

  test('a promised time is kept, and never moves back', () => {
    fc.assert(
      fc.property(...scenario, (asks, agentCount) => {
        let promise: { id: string; by: number } | undefined
        simulate(asks, agentCount, ({ snapshot, result }) => {
          const { reservation } = result
          if (!reservation) return void (promise = undefined)
          const by = promised(result.reasons.get(reservation.sessionId)?.expectedBy)
          if (promise?.id === reservation.sessionId) {
            expect(snapshot.now).toBeLessThan(promise.by || Infinity)
            if (promise.by > 0) expect(by > 0 && by <= promise.by).toBe(true)
          }
          promise = { id: reservation.sessionId, by }
        })
      }),
      { numRuns: 200 },
    )
  })

  test('who waits fits nowhere in what is free and not held', () => {
    fc.assert(
      fc.property(...scenario, (asks, agentCount) => {
        simulate(asks, agentCount, ({ snapshot, result }) => {
          for (const session of snapshot.pending) {
            if (!result.queue.includes(session.id) || session.id === result.reservation?.sessionId) continue
            for (const agent of snapshot.agents) {
              const holder = snapshot.pending.find(one => one.id === result.reservation?.sessionId)
              if (holder && agent.id === result.reservation?.agentId) continue
              const here = result.placements.filter(p => p.agentId === agent.id)
              const free = subtractSlots(agent.capacity, here.map(p => p.requested).reduce(addSlots, agent.occupied))
              const fits = SLOT_NAMES.every(slot => (session.requested[slot] ?? 0) <= (free[slot] ?? 0))
              const shares = sharesFit(agent, here, session.requested['cuda.shares'] ?? 0)
              expect(fits && shares).toBe(false)
            }
          }
        })
      }),
      { numRuns: 100 },
    )
  })
})

const promised = (text: string | undefined) => (text === undefined ? 0 : Date.parse(text))

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
