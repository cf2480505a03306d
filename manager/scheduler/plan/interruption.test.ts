import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, type ResourceSlots } from '#manager/contract'
import {
  type AgentSnapshot,
  concentrated,
  drf,
  fifo,
  type GroupSnapshot,
  type HoldingSession,
  type Interruption,
  lifo,
  type PendingSession,
  plan,
  FreeCapacity,
  totalOf,
} from './index.ts'
import { anAgent, aSession, busy, sessionId } from './plan-fixtures.ts'

const MINUTE = 60_000
const RULES = { minRunMs: 10 * MINUTE, warnMs: 2 * MINUTE }
const NOW = 3_600_000
const ON = { now: NOW, options: { interruption: RULES } }

/** A session that runs on the agent, with an id of 100 and above. */
function running(n: number, agent: AgentSnapshot, slots: ResourceSlots, more: Partial<HoldingSession> = {}) {
  const given = { agentId: agent.id, priority: -5, devices: [], ranMs: 60 * MINUTE, state: 'may' as const }
  return { id: sessionId(100 + n), slots, ...given, ...more }
}

const decide = (snapshot: GroupSnapshot, sequencer = fifo) => plan(snapshot, sequencer, concentrated)

/** The group with these sessions running in it. */
const withRunning = (agents: readonly AgentSnapshot[], holding: readonly HoldingSession[]) => ({
  agents: agents.map(agent => busy(agent, holding.filter(one => one.agentId === agent.id).map(occupantOf))),
  holding,
})
const occupantOf = ({ slots, devices }: HoldingSession) => ({ slots, devices, latestEnd: null })

describe('a session of higher priority', () => {
  const agent = anAgent(1, { cpu: 4000 })
  const urgent = aSession(1, { cpu: 3000 })
  const two = [running(1, agent, { cpu: 2000 }), running(2, agent, { cpu: 2000 }, { ranMs: 30 * MINUTE })]

  test('interrupts as few sessions as possible, those that lose the least, and says when it starts', () => {
    const small = [0, 1, 2].map(n => running(n, agent, { cpu: 1000 }, { ranMs: (20 + n) * MINUTE }))
    const { interruption, reasons, placements } = decide({
      ...withRunning([agent], [...small, running(9, agent, { cpu: 1000 }, { ranMs: 19 * MINUTE })]),
      pending: [aSession(1, { cpu: 2000 })],
      ...ON,
    })
    expect(placements).toEqual([])
    expect(interruption).toEqual({
      sessionId: sessionId(1),
      agentId: agent.id,
      victims: [sessionId(100), sessionId(109)],
      at: NOW + RULES.warnMs,
    })
    const at = new Date(NOW + RULES.warnMs).toISOString()
    expect(reasons.get(sessionId(1))).toMatchObject({ code: 'interrupting', interrupts: { sessions: 2, at } })
  })

  test.each<[string, Partial<GroupSnapshot>]>([
    ['the group does not allow it', { options: {} }],
    ['they have the same priority', { holding: two.map(one => ({ ...one, priority: 0 })) }],
    ['they have run for less than the minimum', { holding: two.map(one => ({ ...one, ranMs: 9 * MINUTE })) }],
    ['it may be interrupted itself', { pending: [{ ...urgent, interruptible: true }] }],
    ['a limit keeps it waiting', { pending: [{ ...urgent, groupAllowed: false }] }],
    ['it waits for another session', { pending: [{ ...urgent, waitsFor: ['first'] }] }],
    ['an admin has closed the group', { active: false }],
    [
      'it fits as soon as a session is gone that ends anyway',
      { holding: [running(1, agent, { cpu: 4000 }, { state: 'leaving' })] },
    ],
    ['it would not fit even then', { pending: [aSession(1, { cpu: 5000 })] }],
  ])('interrupts nobody where %s', (_, more) => {
    const snapshot = { ...withRunning([agent], two), pending: [urgent], ...ON }
    expect(decide(snapshot).interruption).toMatchObject({ victims: [sessionId(101), sessionId(102)] })
    expect(decide({ ...snapshot, ...more }).interruption).toBeUndefined()
  })

  test('the interruption continues, spares who is not needed any more, and ends with the need', () => {
    const announced = two.map(one => ({ ...one, state: 'announced' as const }))
    const interruption = { sessionId: urgent.id, agentId: agent.id, at: NOW - MINUTE }
    const before = { pending: [urgent], interruption, ...ON }
    const again = decide({ ...withRunning([agent], announced), ...before })
    expect(again.interruption).toEqual({ ...interruption, victims: [sessionId(101), sessionId(102)] })
    // Another session has ended meanwhile.
    const larger = anAgent(1, { cpu: 6000 })
    const spared = decide({ ...withRunning([larger], announced), ...before })
    expect(spared.interruption).toMatchObject({ victims: [sessionId(102)] })
    const fitsNow = decide({ ...withRunning([anAgent(1, { cpu: 7000 })], announced), ...before })
    expect(fitsNow.placements).toMatchObject([{ sessionId: urgent.id }])
    expect(fitsNow.interruption).toBeUndefined()
    const elsewhere = decide({ ...withRunning([agent, anAgent(2, { cpu: 3000 })], announced), ...before })
    expect(elsewhere.placements).toMatchObject([{ sessionId: urgent.id, agentId: anAgent(2, {}).id }])
    expect(elsewhere.interruption).toBeUndefined()
    expect(decide({ ...withRunning([agent], announced), ...before, pending: [] }).interruption).toBeUndefined()
    const lowered = [{ ...urgent, priority: -5 }]
    expect(decide({ ...withRunning([agent], announced), ...before, pending: lowered }).interruption).toBeUndefined()
  })

  test('what becomes free is held until it starts, also while its agent is away for a moment', () => {
    const [first, second] = two.map(one => ({ ...one, state: 'announced' as const }))
    const interruption = { sessionId: urgent.id, agentId: agent.id, at: NOW - MINUTE }
    const late = aSession(2, { cpu: 1000 }, { priority: 5 })
    const holding = second === undefined ? [] : [second]
    const before = { pending: [urgent, late], interruption, ...ON }
    const { placements, interruption: after } = decide({ ...withRunning([agent], holding), ...before })
    expect(first).toBeDefined()
    expect(placements).toEqual([])
    expect(after).toMatchObject({ victims: [sessionId(102)] })
    const away = decide({ ...withRunning([{ ...agent, connected: false }], holding), ...before })
    expect(away.interruption).toEqual(after)
    const lost = decide({ ...withRunning([{ ...agent, connected: false, lost: true }], holding), ...before })
    expect(lost.interruption).toBeUndefined()
  })

  test('a session with the reservation interrupts too, and holds no second agent then', () => {
    const reservation = { sessionId: urgent.id, agentId: agent.id, devices: [] }
    const after = decide({ ...withRunning([agent], two), pending: [urgent], reservation, ...ON })
    expect(after.interruption?.victims).toHaveLength(2)
    expect(after.reservation).toBeUndefined()
  })
})

const shape = fc.record({
  cpu: fc.integer({ min: 1, max: 4 }),
  gpus: fc.nat(3),
  shares: fc.constantFrom(0, 0, 40, 70, 130),
})
const slotsOf = ({ cpu, gpus, shares }: { cpu: number; gpus: number; shares: number }, isShared: boolean) => ({
  cpu: cpu * 1000,
  ...(isShared ? (shares > 0 ? { 'cuda.shares': shares } : {}) : gpus > 0 ? { 'cuda.device': gpus } : {}),
})

/** A random group: sessions run where they fit, others wait. */
const group = fc
  .record({
    agents: fc.array(fc.record({ cpu: fc.integer({ min: 3, max: 8 }), gpus: fc.nat(4) }), {
      minLength: 1,
      maxLength: 3,
    }),
    isShared: fc.boolean(),
    holders: fc.array(
      fc.record({
        shape,
        on: fc.nat(2),
        priority: fc.integer({ min: -3, max: 1 }),
        minutes: fc.integer({ min: 0, max: 40 }),
        state: fc.constantFrom('may', 'may', 'may', 'never', 'leaving'),
      }),
      { maxLength: 12 },
    ),
    waiting: fc.array(
      fc.record({
        shape,
        kernels: fc.constantFrom(1, 1, 2),
        priority: fc.integer({ min: -3, max: 3 }),
        interruptible: fc.boolean(),
      }),
      { minLength: 1, maxLength: 5 },
    ),
    sequencer: fc.constantFrom(fifo, lifo, drf),
    reserveAfterMs: fc.constantFrom(0, 3_600_000),
  })
  .map(({ agents: sizes, isShared, holders, waiting, sequencer, reserveAfterMs }) => {
    const agents = sizes.map(({ cpu, gpus }, n) => {
      const devices = isShared ? { 'cuda.shares': 100 * gpus } : { 'cuda.device': gpus }
      return anAgent(n + 1, { cpu: cpu * 1000, ...devices })
    })
    const freeCapacities = agents.map(agent => new FreeCapacity(agent))
    const all = holders.flatMap(({ shape: of, on, priority, minutes, state }, n) => {
      const [freeCapacity, agent] = [freeCapacities[on % freeCapacities.length], agents[on % agents.length]]
      const slots = slotsOf(of, isShared)
      if (!freeCapacity?.fits(slots) || !agent) return []
      const devices = freeCapacity.take(slots)
      return [{ ...running(n, agent, slots, { devices, priority, ranMs: minutes * MINUTE }), state }]
    })
    const pending = waiting.map(({ shape: of, kernels: clusterSize, priority, interruptible }, n) =>
      aSession(n, slotsOf(of, isShared), { clusterSize, priority, interruptible }),
    )
    const busyAgents = withRunning(agents, all as HoldingSession[]).agents
    const holding = all.filter(({ state }) => state !== 'never') as HoldingSession[]
    const snapshot: GroupSnapshot = {
      agents: busyAgents,
      holding,
      pending,
      now: NOW,
      options: { interruption: RULES, reserveAfterMs },
    }
    return { snapshot, sequencer }
  })

/** The agents after placements were made and some sessions have ended. */
function after(snapshot: GroupSnapshot, plan_: ReturnType<typeof plan>, gone: readonly HoldingSession[]) {
  return snapshot.agents.map(agent => {
    const placed = plan_.placements.filter(one => one.agentId === agent.id)
    const left = gone.filter(one => one.agentId === agent.id)
    const sum = (devices: readonly { uuid: string; amount: number }[], uuid: string) =>
      devices.reduce((all, one) => all + (one.uuid === uuid ? one.amount : 0), 0)
    const [more, less] = [placed.flatMap(({ devices }) => devices), left.flatMap(({ devices }) => devices)]
    return {
      ...agent,
      occupied: left.reduce<ResourceSlots>(
        (held, { slots }) => addSlots(held, negative(slots)),
        placed.reduce<ResourceSlots>((held, { requested }) => addSlots(held, requested), agent.occupied),
      ),
      devices: agent.devices.map(device => ({
        ...device,
        occupied: device.occupied + sum(more, device.uuid) - sum(less, device.uuid),
      })),
    }
  })
}
const negative = (slots: ResourceSlots): ResourceSlots =>
  Object.fromEntries(Object.entries(slots).map(([slot, amount]) => [slot, -amount]))

const fitsOn = (agents: readonly AgentSnapshot[], { agentId }: Interruption, session: PendingSession) => {
  const agent = agents.find(({ id }) => id === agentId)
  return agent !== undefined && new FreeCapacity(agent).fits(session.requested, false, session.clusterSize)
}

describe('in random groups', () => {
  const decided = group.map(({ snapshot, sequencer }) => {
    const made = decide(snapshot, sequencer)
    const { interruption } = made
    const victims = (snapshot.holding ?? []).filter(({ id }) => interruption?.victims.includes(id))
    const session = snapshot.pending.find(({ id }) => id === interruption?.sessionId)
    const leaving = (snapshot.holding ?? []).filter(({ state }) => state === 'leaving')
    return { snapshot, sequencer, made, interruption, victims, session, leaving }
  })
  type Decided = typeof decided extends fc.Arbitrary<infer T> ? T : never
  const check = (property: (one: Decided) => void) => {
    let seen = 0
    fc.assert(
      fc.property(decided, one => {
        if (one.interruption) seen++
        property(one)
      }),
      { numRuns: 400 },
    )
    // Otherwise this test would prove nothing.
    expect(seen).toBeGreaterThan(10)
  }

  test('only sessions are interrupted that may be, of lower priority, after their minimum time, on one agent', () =>
    check(({ interruption, victims, session, made }) => {
      if (!interruption) return
      expect(victims).toHaveLength(interruption.victims.length)
      expect(victims.length).toBeGreaterThan(0)
      for (const one of victims) {
        expect(one.agentId).toBe(interruption.agentId)
        expect(one.state).toBe('may')
        expect(one.ranMs).toBeGreaterThanOrEqual(RULES.minRunMs)
        expect(one.priority).toBeLessThan(session?.priority ?? -100)
      }
      expect(made.placements.map(({ sessionId: id }) => id)).not.toContain(interruption.sessionId)
    }))

  test('never more than needed: with all of them gone it fits, with any one spared it does not', () =>
    check(({ snapshot, made, interruption, victims, session, leaving }) => {
      if (!interruption || !session) return
      expect(fitsOn(after(snapshot, made, [...leaving, ...victims]), interruption, session)).toBe(true)
      // Sessions of lower priority are placed beside the held resources, and do not count.
      const ahead = new Set<string>(
        snapshot.pending.filter(one => (one.priority ?? 0) >= (session.priority ?? 0)).map(({ id }) => id),
      )
      const placements = made.placements.filter(one => ahead.has(one.sessionId))
      for (const spared of victims) {
        const gone = [...leaving, ...victims.filter(one => one !== spared)]
        expect(fitsOn(after(snapshot, { ...made, placements }, gone), interruption, session)).toBe(false)
      }
    }))

  test('what is held suffices: once they are gone it starts, whatever was placed beside it', () =>
    check(({ snapshot, sequencer, made, interruption, victims, session, leaving }) => {
      if (!interruption || !session) return
      const gone = [...victims, ...leaving]
      const placed = new Set<string>(made.placements.map(({ sessionId: id }) => id))
      const next = decide(
        {
          ...snapshot,
          agents: after(snapshot, made, gone),
          holding: (snapshot.holding ?? []).filter(one => !gone.includes(one)),
          pending: snapshot.pending.filter(({ id }) => !placed.has(id)),
          interruption,
          reservation: made.reservation,
        },
        sequencer,
      )
      expect(next.placements.map(({ sessionId: id }) => id)).toContain(session.id)
      expect(next.interruption?.sessionId).not.toBe(session.id)
    }))

  test('the next pass keeps it as it is', () =>
    check(({ snapshot, sequencer, made, interruption }) => {
      if (!interruption) return
      const placed = new Set<string>(made.placements.map(({ sessionId: id }) => id))
      const next = decide(
        {
          ...snapshot,
          agents: after(snapshot, made, []),
          holding: (snapshot.holding ?? []).map(one =>
            interruption.victims.includes(one.id) ? { ...one, state: 'announced' as const } : one,
          ),
          pending: snapshot.pending.filter(({ id }) => !placed.has(id)),
          interruption,
          reservation: made.reservation,
          now: NOW + MINUTE,
        },
        sequencer,
      )
      expect(next.interruption).toEqual(interruption)
    }))

  test('never a cascade: who may be interrupted interrupts nobody', () =>
    check(({ session, interruption }) => {
      if (interruption) expect(session?.interruptible).toBe(false)
    }))

  test('off by default: without the rules the plan is that of a group in which nobody may be interrupted', () => {
    fc.assert(
      fc.property(group, ({ snapshot, sequencer }) => {
        const { interruption: _, ...options } = snapshot.options ?? {}
        const off = decide({ ...snapshot, options }, sequencer)
        expect(off).toEqual(decide({ ...snapshot, options, holding: [] }, sequencer))
        expect(off.interruption).toBeUndefined()
      }),
    )
  })

  test('nothing is given out twice beside an interruption', () =>
    check(({ snapshot, made, interruption, victims, session, leaving }) => {
      if (!interruption || !session) return
      const total = totalOf(session)
      for (const agent of after(snapshot, made, [...victims, ...leaving])) {
        const needed = agent.id === interruption.agentId ? addSlots(agent.occupied, total) : agent.occupied
        for (const [slot, amount] of Object.entries(needed))
          expect(amount).toBeLessThanOrEqual(agent.capacity[slot as keyof ResourceSlots] ?? 0)
      }
    }))
})
