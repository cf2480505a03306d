import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, lackingSlots, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import {
  type AgentSnapshot,
  concentrated,
  dispersed,
  drf,
  fifo,
  lifo,
  type PendingSession,
  plan,
  FreeCapacity,
  roundRobin,
  totalOf,
  whatIf,
} from './index.ts'
import { agentId, anAgent, aSession, GiB, sessionId } from './plan-fixtures.ts'

const decide = (agents: readonly AgentSnapshot[], pending: readonly PendingSession[]) =>
  plan({ agents, pending }, fifo, concentrated)
const shared = (uuid: string, occupied: number) => ({ uuid, slot: 'cuda.shares' as const, total: 100, occupied })

describe('a session of several kernels', () => {
  test('the whole session is placed on one agent, with devices for each kernel', () => {
    const agents = [anAgent(1, { cpu: 4000, 'cuda.device': 2 }), anAgent(2, { cpu: 9000, 'cuda.device': 4 })]
    const [placement] = decide(agents, [aSession(1, { cpu: 2000, 'cuda.device': 1 }, { clusterSize: 3 })]).placements
    expect(placement).toMatchObject({ agentId: agentId(2), requested: { cpu: 6000, 'cuda.device': 3 } })
    expect(placement?.kernels?.map(devices => devices.map(({ uuid }) => uuid))).toEqual([
      ['cuda.device-0'],
      ['cuda.device-1'],
      ['cuda.device-2'],
    ])
  })

  test('a session that does not fit on one agent gets nothing, however much is free in sum', () => {
    const agents = [1, 2, 3].map(n => anAgent(n, { cpu: 4000 }))
    const { placements, reasons } = decide(agents, [aSession(1, { cpu: 2000 }, { clusterSize: 3 })])
    expect(placements).toEqual([])
    expect(reasons.get(sessionId(1))).toMatchObject({
      code: 'too_large',
      needed: { cpu: '6' },
      available: { cpu: '4' },
    })
  })

  test('parts of GPUs are counted by device: two half free devices fit two halves, not three', () => {
    const agent = anAgent(
      1,
      { 'cuda.shares': 200 },
      { devices: [shared('A', 50), shared('B', 40)], occupied: { 'cuda.shares': 90 } },
    )
    const freeCapacity = new FreeCapacity(agent)
    expect(freeCapacity.fits({ 'cuda.shares': 50 }, false, 2)).toBe(true)
    expect(freeCapacity.fits({ 'cuda.shares': 36 }, false, 3)).toBe(false)
    expect(freeCapacity.fits({ 'cuda.shares': 30 }, false, 3)).toBe(true)
    const [placement] = decide([agent], [aSession(1, { 'cuda.shares': 30 }, { clusterSize: 3 })]).placements
    expect(placement?.kernels?.flat().map(({ uuid }) => uuid)).toEqual(['A', 'B', 'B'])
  })

  test('a waiting session reserves the devices of all its kernels', () => {
    const occupied = { cpu: 1000, 'cuda.device': 1 }
    const devices = [0, 1, 2].map(n => ({
      uuid: `G${n}`,
      slot: 'cuda.device' as const,
      total: 1,
      occupied: n === 0 ? 1 : 0,
    }))
    const agent = anAgent(1, { cpu: 9000, 'cuda.device': 3 }, { occupied, devices })
    const large = aSession(1, { cpu: 1000, 'cuda.device': 1 }, { clusterSize: 3 })
    const small = aSession(2, { cpu: 1000, 'cuda.device': 1 })
    const { placements, reservation } = plan(
      { agents: [agent], pending: [large, small], now: 3_600_000 },
      fifo,
      concentrated,
    )
    expect(placements).toEqual([])
    expect(reservation?.devices.map(({ uuid }) => uuid).toSorted()).toEqual(['G0', 'G1', 'G2'])
  })

  test('what-if offers what each kernel could have', () => {
    const agent = anAgent(1, { cpu: 8000, mem: 8 * GiB }, { occupied: { cpu: 1000 } })
    const session = aSession(1, { cpu: 4000, mem: GiB }, { clusterSize: 2 })
    const answer = whatIf({ agents: [agent], pending: [] }, session, {
      sequencer: fifo,
      selector: concentrated,
      minimum: {},
    })
    expect(answer).toMatchObject({ agentId: null, smaller: [{ slot: 'cpu', amount: 3500 }] })
  })
})

describe('priority', () => {
  const one = [anAgent(1, { cpu: 1000 })]
  const first = (sequencer: typeof fifo, sessions: readonly PendingSession[]) =>
    plan({ agents: one, pending: sessions }, sequencer, concentrated).placements[0]?.sessionId

  test.each([fifo, lifo, drf])('priority precedes every order of a sequencer (%#)', sequencer => {
    const sessions = [
      aSession(1, { cpu: 1000 }),
      aSession(2, { cpu: 1000 }, { priority: 1, ownerId: 'who has much' }),
      aSession(3, { cpu: 1000 }),
    ]
    expect(first(sequencer, sessions)).toBe(sessionId(2))
  })

  test('users with a lowered priority go behind the others', () => {
    expect(first(fifo, [aSession(1, { cpu: 1000 }, { priority: -1 }), aSession(2, { cpu: 1000 })])).toBe(sessionId(2))
  })
})

test('a session with open dependencies takes no place, blocks nobody, and names what it waits for', () => {
  const waiting = aSession(1, { cpu: 1000 }, { waitsFor: ['prepare', 'train'] })
  const { placements, reasons } = decide([anAgent(1, { cpu: 1000 })], [waiting, aSession(2, { cpu: 1000 })])
  expect(placements.map(p => p.sessionId)).toEqual([sessionId(2)])
  expect(reasons.get(waiting.id)).toMatchObject({
    code: 'dependencies',
    message: 'Starts once "prepare", "train" have succeeded.',
  })
})

const someAgents = fc.array(
  fc.record({
    cpu: fc.nat(16).map(n => n * 1000),
    mem: fc.nat(16).map(n => n * GiB),
    whole: fc.nat(4),
    used: fc.array(fc.nat(100), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 4 },
)
const someSessions = fc.array(
  fc.record({
    requested: fc.record({
      cpu: fc.nat(6).map(n => n * 500),
      mem: fc.nat(6).map(n => n * GiB),
      'cuda.device': fc.nat(2),
      'cuda.shares': fc.nat(220),
    }),
    clusterSize: fc.constantFrom(1, 1, 2, 3, 5),
    priority: fc.integer({ min: -2, max: 2 }),
    owner: fc.nat(2),
    waits: fc.constantFrom(false, false, false, true),
  }),
  { maxLength: 20 },
)
const everyWay = fc.record({
  agents: someAgents,
  sessions: someSessions,
  sequencer: fc.constantFrom(fifo, lifo, drf),
  selector: fc.constantFrom(concentrated, dispersed, roundRobin),
  splitShares: fc.boolean(),
})
type Way = typeof everyWay extends fc.Arbitrary<infer T> ? T : never

const toSnapshot = ({ agents, sessions, splitShares }: Way) => ({
  agents: agents.map(({ cpu, mem, whole, used }, n) => {
    const shares = used.map((occupied, index) => shared(`S${index}`, occupied))
    const devices = Array.from({ length: whole }, (_, index) => {
      return { uuid: `W${index}`, slot: 'cuda.device' as const, total: 1, occupied: 0 }
    })
    const capacity = { cpu, mem, 'cuda.device': whole, 'cuda.shares': 100 * used.length }
    const occupied = { 'cuda.shares': used.reduce((sum, one) => sum + one, 0) }
    return anAgent(n, capacity, { devices: [...devices, ...shares], occupied })
  }),
  pending: sessions.map(({ requested, clusterSize, priority, owner, waits }, n) =>
    aSession(n, requested, { clusterSize, priority, ownerId: `user-${owner}`, ...(waits ? { waitsFor: ['x'] } : {}) }),
  ),
  options: { splitShares },
})

describe('every plan with clusters, for any sequencer, selector and options', () => {
  test('all kernels of a session get exactly their devices on one agent, or none, and nothing is given twice', () => {
    fc.assert(
      fc.property(everyWay, way => {
        const { agents, pending, options } = toSnapshot(way)
        const { placements, queue } = plan({ agents, pending, options }, way.sequencer, way.selector)
        expect([...placements.map(p => p.sessionId), ...queue].toSorted()).toEqual(pending.map(s => s.id).toSorted())
        const asked = new Map(pending.map(session => [session.id, session]))
        for (const { sessionId: id, requested, devices, kernels = [devices] } of placements) {
          const session = asked.get(id)
          if (!session) throw new Error('placed what was not asked for')
          expect(session.waitsFor ?? []).toEqual([])
          expect(requested).toEqual(totalOf(session))
          expect(kernels).toHaveLength(session.clusterSize ?? 1)
          expect(kernels.flat()).toEqual(devices)
          for (const own of kernels) {
            for (const slot of ['cuda.device', 'cuda.shares'] as const)
              expect(sum(own.filter(d => d.slot === slot).map(d => d.amount))).toBe(session.requested[slot])
            expect(new Set(own.map(d => d.uuid)).size).toBe(own.length)
          }
        }
        for (const agent of agents) {
          const here = placements.filter(p => p.agentId === agent.id)
          const held = here.map(p => p.requested).reduce<ResourceSlots>(addSlots, agent.occupied)
          expect(lackingSlots(held, agent.capacity)).toEqual([])
          for (const device of agent.devices) {
            const given = here.flatMap(p => p.devices).filter(d => d.uuid === device.uuid)
            expect(device.occupied + sum(given.map(d => d.amount))).toBeLessThanOrEqual(device.total)
          }
        }
      }),
    )
  })

  test('the plan is work-conserving: no waiting session without dependencies would still fit whole', () => {
    fc.assert(
      fc.property(everyWay, way => {
        const { agents, pending, options } = toSnapshot(way)
        const { placements, queue } = plan({ agents, pending, options }, way.sequencer, way.selector)
        const after = agents.map(agent => {
          const here = placements.filter(p => p.agentId === agent.id)
          const given = here.flatMap(p => p.devices)
          return {
            ...agent,
            occupied: here.map(p => p.requested).reduce<ResourceSlots>(addSlots, agent.occupied),
            devices: agent.devices.map(device => ({
              ...device,
              occupied: device.occupied + sum(given.filter(d => d.uuid === device.uuid).map(d => d.amount)),
            })),
          }
        })
        const left = pending.filter(session => queue.includes(session.id))
        expect(plan({ agents: after, pending: left, options }, way.sequencer, way.selector).placements).toEqual([])
      }),
    )
  })

  test('`fits` is true exactly if `take` succeeds', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(100), { maxLength: 5 }),
        fc.integer({ min: 1, max: 260 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        (used, amount, kernels, splitShares) => {
          const devices = used.map((occupied, n) => shared(`S${n}`, occupied))
          const occupied = { 'cuda.shares': sum(used) }
          const agent = anAgent(1, { 'cuda.shares': 100 * used.length }, { devices, occupied })
          const freeCapacity = () => new FreeCapacity(agent, 'now', { splitShares })
          const one = freeCapacity()
          let possible = 0
          while (possible < kernels && one.fits({ 'cuda.shares': amount })) {
            one.take({ 'cuda.shares': amount })
            possible++
          }
          expect(freeCapacity().fits({ 'cuda.shares': amount }, false, kernels)).toBe(possible === kernels)
        },
      ),
    )
  })

  test('sessions of a higher priority come first: of equal requests none of a lower priority starts before them', () => {
    fc.assert(
      fc.property(everyWay, fc.nat(3), (way, cpu) => {
        const { agents, pending } = toSnapshot(way)
        const equal = pending.map(session => ({
          ...session,
          requested: { cpu: 1000 * cpu },
          clusterSize: 1,
          waitsFor: [],
        }))
        const { placements, queue } = plan({ agents, pending: equal }, way.sequencer, way.selector)
        const priorityOf = new Map(equal.map(session => [session.id, session.priority ?? 0]))
        const started = placements.map(p => priorityOf.get(p.sessionId) ?? 0)
        expect(started).toEqual(started.toSorted((a, b) => b - a))
        const waiting = queue.map(id => priorityOf.get(id) ?? 0)
        expect(Math.min(...started, Infinity)).toBeGreaterThanOrEqual(Math.max(...waiting, -Infinity))
      }),
    )
  })
})

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

test('every slot is counted for each kernel', () => {
  const requested = Object.fromEntries(SLOT_NAMES.map((slot, index) => [slot, index + 1]))
  expect(totalOf({ requested, clusterSize: 3 })).toEqual(
    Object.fromEntries(SLOT_NAMES.map((slot, index) => [slot, 3 * (index + 1)])),
  )
})
