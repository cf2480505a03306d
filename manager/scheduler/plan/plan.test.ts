import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, lackingSlots, SLOT_NAMES } from '#manager/contract'
import {
  type AgentSnapshot,
  byAge,
  concentrated,
  fifo,
  type PendingSession,
  plan,
  type Plan,
  FreeCapacity,
} from './index.ts'
import { agentId, anAgent, aSession, GiB, IMAGE, sessionId } from './plan-fixtures.ts'

const decide = (agents: readonly AgentSnapshot[], pending: readonly PendingSession[]) =>
  plan({ agents, pending }, fifo, concentrated)
const where = (result: Plan) => Object.fromEntries(result.placements.map(p => [p.sessionId, p.agentId]))
const reasonOf = (result: Plan, n: number) => result.reasons.get(sessionId(n))

describe('the choice of an agent', () => {
  test('CPU sessions avoid the GPU host, GPU sessions use it', () => {
    const agents = [anAgent(1, { cpu: 8000, mem: 8 * GiB, 'cuda.device': 2 }), anAgent(2, { cpu: 8000, mem: 8 * GiB })]
    const result = decide(agents, [aSession(1, { cpu: 1000, mem: GiB }), aSession(2, { cpu: 1000, 'cuda.device': 1 })])
    expect(where(result)).toEqual({ [sessionId(1)]: agentId(2), [sessionId(2)]: agentId(1) })
    expect(result.placements[1]?.devices).toEqual([{ uuid: 'cuda.device-0', slot: 'cuda.device', amount: 1 }])
  })

  test('CPU sessions use the GPU host when nothing else is free', () => {
    const agents = [anAgent(1, { cpu: 8000, 'cuda.device': 2 }), anAgent(2, { cpu: 1000 })]
    const result = decide(agents, [aSession(1, { cpu: 1000 }), aSession(2, { cpu: 1000 })])
    expect(where(result)).toEqual({ [sessionId(1)]: agentId(2), [sessionId(2)]: agentId(1) })
  })

  test('an agent that holds the image is preferred; another one pulls it when that agent is full', () => {
    const agents = [anAgent(1, { cpu: 2000 }, { images: new Set() }), anAgent(2, { cpu: 8000 })]
    const pullable = (n: number, cpu: number) => aSession(n, { cpu }, { pullable: true })
    expect(where(decide(agents, [pullable(1, 1000)]))).toEqual({ [sessionId(1)]: agentId(2) })
    const both = where(decide(agents, [pullable(1, 8000), pullable(2, 1000)]))
    expect(both).toEqual({ [sessionId(1)]: agentId(2), [sessionId(2)]: agentId(1) })
  })

  test('an image that no registry offers runs only on agents that hold it', () => {
    const agents = [anAgent(1, { cpu: 8000 }, { images: new Set() }), anAgent(2, { cpu: 8000 })]
    const result = decide(agents, [aSession(1, { cpu: 8000 }), aSession(2, { cpu: 1000 })])
    expect(where(result)).toEqual({ [sessionId(1)]: agentId(2) })
    expect(reasonOf(result, 2)?.code).toBe('queued_behind')
  })

  test('sessions are concentrated: the agent with the least left over is filled first', () => {
    const agents = [anAgent(1, { cpu: 8000 }), anAgent(2, { cpu: 8000 }, { occupied: { cpu: 4000 } })]
    expect(where(decide(agents, [aSession(1, { cpu: 2000 })]))).toEqual({ [sessionId(1)]: agentId(2) })
  })

  test('an agent that failed is avoided while another could take the session, even if that one is full now', () => {
    const agents = [anAgent(1, { cpu: 4000 }), anAgent(2, { cpu: 4000 }, { occupied: { cpu: 4000 } })]
    const failed = aSession(1, { cpu: 1000 }, { failedAgents: [agentId(1)] })
    expect(reasonOf(decide(agents, [failed]), 1)?.code).toBe('capacity')
    expect(where(decide(agents.slice(0, 1), [failed]))).toEqual({ [sessionId(1)]: agentId(1) })
  })
})

describe('devices', () => {
  test('shares go to the device that they leave most full, and never across two devices', () => {
    const shares = (uuid: string, occupied: number) => ({ uuid, slot: 'cuda.shares' as const, total: 100, occupied })
    const agent = anAgent(
      1,
      { 'cuda.shares': 200 },
      { occupied: { 'cuda.shares': 80 }, devices: [shares('A', 20), shares('B', 60)] },
    )
    const result = decide([agent], [aSession(1, { 'cuda.shares': 40 }), aSession(2, { 'cuda.shares': 80 })])
    expect(result.placements.map(p => p.devices)).toEqual([
      [{ uuid: 'B', slot: 'cuda.shares', amount: 40 }],
      [{ uuid: 'A', slot: 'cuda.shares', amount: 80 }],
    ])
  })

  test('more than one share takes whole devices and the rest from one device', () => {
    const agent = anAgent(1, { 'cuda.shares': 300 })
    const result = decide([agent], [aSession(1, { 'cuda.shares': 250 })])
    expect(result.placements[0]?.devices).toEqual([
      { uuid: 'cuda.shares-0', slot: 'cuda.shares', amount: 100 },
      { uuid: 'cuda.shares-1', slot: 'cuda.shares', amount: 100 },
      { uuid: 'cuda.shares-2', slot: 'cuda.shares', amount: 50 },
    ])
  })

  test('three times thirty hundredths are ninety', () => {
    const agent = anAgent(1, { 'cuda.shares': 100 })
    const result = decide(
      [agent],
      [1, 2, 3, 4].map(n => aSession(n, { 'cuda.shares': 30 })),
    )
    expect(result.placements).toHaveLength(3)
    expect(new FreeCapacity(agent).largest('cuda.shares')).toBe(100)
  })
})

describe('why a session waits', () => {
  const big = { cpu: 4000 }
  test.each([
    [
      'that have it are paused',
      { schedulable: false },
      'The hosts that have the image python take no new sessions now',
    ],
    ['that had it are away', { connected: false }, 'No connected host has the image python any more'],
  ])('the reason of a session whose image only other hosts have says that the hosts %s', (_, more, text) => {
    const agents = [anAgent(1, { cpu: 8000 }, { images: new Set() }), anAgent(2, { cpu: 8000 }, more)]
    expect(reasonOf(decide(agents, [aSession(1, { cpu: 1000 })]), 1)?.message).toContain(text)
  })

  test.each<[string, readonly AgentSnapshot[], PendingSession, object]>([
    ['no_agents', [], aSession(1, big), {}],
    ['network_nowhere', [anAgent(1, { cpu: 8000 })], aSession(1, big, { restricted: true }), {}],
    [
      'network_nowhere',
      [anAgent(1, { cpu: 8000 }), anAgent(2, { cpu: 8000 }, { restricts: true, schedulable: false })],
      aSession(1, big, { restricted: true }),
      {},
    ],
    ['no_agents', [anAgent(1, { cpu: 8000 }, { schedulable: false })], aSession(1, big), {}],
    ['agents_unreachable', [anAgent(1, { cpu: 8000 }, { connected: false })], aSession(1, big), {}],
    ['image_nowhere', [anAgent(1, { cpu: 8000 }, { images: new Set() })], aSession(1, big), {}],
    [
      'image_nowhere',
      [anAgent(1, { cpu: 8000 }, { images: new Set() }), anAgent(2, { cpu: 2000 })],
      aSession(1, big),
      {},
    ],
    ['too_large', [anAgent(1, { cpu: 2000 })], aSession(1, big), { needed: { cpu: '4' }, available: { cpu: '2' } }],
    [
      'agents_unreachable',
      [anAgent(1, { cpu: 2000 }), anAgent(2, { cpu: 8000 }, { connected: false })],
      aSession(1, big),
      { needed: { cpu: '4' } },
    ],
    [
      'capacity',
      [anAgent(1, { cpu: 8000 }, { occupied: { cpu: 6500 } })],
      aSession(1, big),
      { needed: { cpu: '4' }, available: { cpu: '1.5' } },
    ],
    [
      'fragmentation',
      [anAgent(1, { cpu: 4000 }, { occupied: { cpu: 1000 } }), anAgent(2, { cpu: 4000 }, { occupied: { cpu: 2000 } })],
      aSession(1, big),
      { needed: { cpu: '4' }, available: { cpu: '3' } },
    ],
  ])('the reason is %s', (code, agents, session, amounts) => {
    expect(reasonOf(decide(agents, [session]), 1)).toMatchObject({ code, ...amounts })
  })

  test('queued_behind: sessions ahead took the room in the same pass', () => {
    const result = decide([anAgent(1, { cpu: 4000 })], [aSession(1, big), aSession(2, big)])
    expect(reasonOf(result, 2)?.code).toBe('queued_behind')
    expect(result.queue).toEqual([sessionId(2)])
  })

  test('the sentence has amounts in the units of users', () => {
    const agent = anAgent(1, { cpu: 8000, mem: 8 * GiB }, { occupied: { mem: 7 * GiB } })
    const reason = reasonOf(decide([agent], [aSession(1, { mem: 4 * GiB })]), 1)
    expect(reason?.message).toBe('Needs 4 GiB RAM (at most 1 GiB free). Starts when other sessions end.')
  })
})

test('a session that does not fit does not block later ones', () => {
  const result = decide(
    [anAgent(1, { cpu: 4000 }, { occupied: { cpu: 2000 } })],
    [aSession(1, { cpu: 4000 }), aSession(2, { cpu: 1000 })],
  )
  expect(where(result)).toEqual({ [sessionId(2)]: agentId(1) })
  expect(result.queue).toEqual([sessionId(1)])
})

const amounts = fc.record({
  cpu: fc.nat(8).map(n => n * 500),
  mem: fc.nat(8).map(n => n * GiB),
  'cuda.device': fc.nat(3),
  'cuda.shares': fc.nat(150),
})
const someAgents = fc.array(
  fc.record({
    cpu: fc.nat(16).map(n => n * 1000),
    mem: fc.nat(16).map(n => n * GiB),
    whole: fc.nat(3),
    shared: fc.nat(2),
    image: fc.boolean(),
    schedulable: fc.constantFrom(true, true, true, false),
    connected: fc.constantFrom(true, true, true, false),
  }),
  { maxLength: 5 },
)
const someGroup = fc
  .record({
    agents: someAgents,
    asks: fc.array(fc.record({ requested: amounts, at: fc.nat(3), pullable: fc.boolean() }), { maxLength: 25 }),
  })
  .map(({ agents, asks }) => ({
    agents: agents.map(({ cpu, mem, whole, shared, image, schedulable, connected }, n) =>
      anAgent(
        n,
        { cpu, mem, 'cuda.device': whole, 'cuda.shares': shared * 100 },
        { images: new Set(image ? [IMAGE] : []), schedulable, connected },
      ),
    ),
    pending: asks.map(({ requested, at, pullable }, n) => aSession(n, requested, { enqueuedAt: at, pullable })),
  }))

describe('every plan', () => {
  test('each session is placed or gets a reason, exactly once', () => {
    fc.assert(
      fc.property(someGroup, ({ agents, pending }) => {
        const result = decide(agents, pending)
        const placed = result.placements.map(p => p.sessionId)
        expect([...placed, ...result.queue].toSorted()).toEqual(pending.map(s => s.id).toSorted())
        expect([...result.reasons.keys()]).toEqual(result.queue)
      }),
    )
  })

  test('no slot is given out beyond capacity, and no device beyond itself', () => {
    fc.assert(
      fc.property(someGroup, ({ agents, pending }) => {
        const { placements } = decide(agents, pending)
        for (const agent of agents) {
          const here = placements.filter(p => p.agentId === agent.id)
          expect(lackingSlots(here.map(p => p.requested).reduce(addSlots, {}), agent.capacity)).toEqual([])
          expect(here.length === 0 || (agent.connected && agent.schedulable)).toBe(true)
          for (const device of agent.devices) {
            const taken = here.flatMap(p => p.devices).filter(d => d.uuid === device.uuid)
            expect(taken.reduce((sum, d) => sum + d.amount, 0)).toBeLessThanOrEqual(device.total)
          }
        }
        for (const { requested, devices } of placements) {
          for (const slot of ['cuda.device', 'cuda.shares'] as const) {
            const given = devices.filter(d => d.slot === slot).reduce((sum, d) => sum + d.amount, 0)
            expect(given).toBe(requested[slot] ?? 0)
          }
          expect(devices.filter(d => d.slot === 'cuda.shares' && d.amount < 100).length).toBeLessThanOrEqual(1)
        }
      }),
    )
  })

  test('a session is placed only on agents that hold or can pull its image', () => {
    fc.assert(
      fc.property(someGroup, ({ agents, pending }) => {
        const holds = new Map(agents.map(agent => [agent.id, agent.images.has(IMAGE)]))
        const pullable = new Map(pending.map(session => [session.id, session.pullable]))
        for (const { sessionId: id, agentId: on } of decide(agents, pending).placements) {
          expect(pullable.get(id) === true || holds.get(on) === true).toBe(true)
        }
      }),
    )
  })

  test('the plan is work-conserving: no waiting session would still fit', () => {
    fc.assert(
      fc.property(someGroup, ({ agents, pending }) => {
        const { placements, queue } = decide(agents, pending)
        const after = agents.map(agent =>
          afterwards(
            agent,
            placements.filter(p => p.agentId === agent.id),
          ),
        )
        const again = decide(
          after,
          pending.filter(session => queue.includes(session.id)),
        )
        expect(again.placements).toEqual([])
      }),
    )
  })

  test('the plan does not depend on the order in which agents and sessions are read', () => {
    fc.assert(
      fc.property(someGroup, ({ agents, pending }) => {
        const forwards = decide(agents, pending)
        const backwards = decide(agents.toReversed(), pending.toReversed())
        expect(backwards.placements).toEqual(forwards.placements)
        expect(backwards.queue).toEqual(forwards.queue)
      }),
    )
  })

  test('equal requests are served in the order of their arrival', () => {
    fc.assert(
      fc.property(someAgents, amounts, fc.array(fc.nat(5), { maxLength: 20 }), (specs, requested, times) => {
        const agents = specs.map(({ cpu, mem, whole, shared }, n) =>
          anAgent(n, { cpu, mem, 'cuda.device': whole, 'cuda.shares': shared * 100 }),
        )
        const pending = times.map((at, n) => aSession(n, requested, { enqueuedAt: at }))
        const { placements } = decide(agents, pending)
        const expected = pending.toSorted(byAge).slice(0, placements.length)
        expect(placements.map(p => p.sessionId)).toEqual(expected.map(s => s.id))
      }),
    )
  })
})

/** The agent with these placements running on it. */
function afterwards(agent: AgentSnapshot, placements: Plan['placements']): AgentSnapshot {
  const given = placements.flatMap(p => p.devices)
  return {
    ...agent,
    occupied: placements.map(p => p.requested).reduce(addSlots, agent.occupied),
    devices: agent.devices.map(device => ({
      ...device,
      occupied: given.filter(d => d.uuid === device.uuid).reduce((sum, d) => sum + d.amount, device.occupied),
    })),
  }
}

test('every slot of the contract is planned', () => {
  expect(SLOT_NAMES).toEqual(['cpu', 'mem', 'cuda.device', 'cuda.shares'])
})
