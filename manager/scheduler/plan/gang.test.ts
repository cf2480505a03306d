import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, lackingSlots, type ResourceSlots } from '#manager/contract'
import {
  concentrated,
  dispersed,
  drf,
  fifo,
  type GroupSnapshot,
  lifo,
  partsOf,
  type PendingSession,
  plan,
  roundRobin,
  totalOf,
  whatIf,
} from './index.ts'
import { agentId, anAgent, aSession, GiB, sessionId } from './plan-fixtures.ts'

const decide = (snapshot: GroupSnapshot) => plan(snapshot, fifo, concentrated)
const aGang = (n: number, requested: ResourceSlots, size: number, more: Partial<PendingSession> = {}) =>
  aSession(n, requested, { clusterSize: size, clusterMode: 'multi-host', ...more })
const inNetwork = (n: number, capacity: ResourceSlots, more = {}) =>
  anAgent(n, capacity, { clusterAddress: `192.168.0.${n}`, ...more })

describe('a session over several hosts', () => {
  test('is on one host where that has room, also without a network between hosts', () => {
    const agents = [anAgent(1, { cpu: 1000 }), anAgent(2, { cpu: 3000 })]
    const [placement] = decide({ agents, pending: [aGang(1, { cpu: 1000 }, 3)] }).placements
    expect(placement).toMatchObject({ agentId: agentId(2), requested: { cpu: 3000 } })
    expect(placement?.hosts).toBeUndefined()
  })

  test('takes the hosts with most room, as few as possible, and the last one where the rest leaves the least', () => {
    const agents = [1, 4, 2, 3].map((cpus, n) => inNetwork(n + 1, { cpu: cpus * 1000 }))
    const [placement] = decide({ agents, pending: [aGang(1, { cpu: 1000 }, 6)] }).placements
    expect(placement?.hosts).toEqual([...Array.from({ length: 4 }, () => agentId(2)), agentId(3), agentId(3)])
    expect(placement && partsOf(placement)).toEqual([
      { agentId: agentId(2), requested: { cpu: 4000 }, devices: [] },
      { agentId: agentId(3), requested: { cpu: 2000 }, devices: [] },
    ])
  })

  test('is spread by an option of the group', () => {
    const agents = [2, 2, 2].map((cpus, n) => inNetwork(n + 1, { cpu: cpus * 1000 }))
    const options = { spreadClusters: true }
    const [placement] = decide({ agents, pending: [aGang(1, { cpu: 1000 }, 4)], options }).placements
    expect(placement?.hosts?.map(id => agents.findIndex(agent => agent.id === id))).toEqual([0, 0, 1, 2])
  })

  test('each kernel gets devices of its own host', () => {
    const agents = [1, 2].map(n => inNetwork(n, { cpu: 4000, 'cuda.device': 2 }))
    const [placement] = decide({ agents, pending: [aGang(1, { cpu: 1000, 'cuda.device': 1 }, 3)] }).placements
    expect(placement?.kernels?.map(devices => devices.length)).toEqual([1, 1, 1])
    expect(placement && partsOf(placement).map(({ devices }) => devices.length)).toEqual([2, 1])
  })

  test.each([
    ['capacity', { agents: [inNetwork(1, { cpu: 2000 }, { occupied: { cpu: 1000 } }), inNetwork(2, { cpu: 2000 })] }],
    ['too_large', { agents: [inNetwork(1, { cpu: 1000 }), inNetwork(2, { cpu: 2000 })] }],
    ['no_host_network', { agents: [inNetwork(1, { cpu: 2000 }), anAgent(2, { cpu: 2000 })] }],
    ['no_host_network', { agents: [anAgent(1, { cpu: 2000 }), anAgent(2, { cpu: 2000 })] }],
    ['no_host_network', { agents: [1, 2].map(n => inNetwork(n, { cpu: 2000 }, { clusterAddress: '192.168.0.9' })) }],
    ['capacity', { agents: [anAgent(1, { cpu: 4000 }, { occupied: { cpu: 1000 } })] }],
    ['too_large', { agents: [inNetwork(1, { cpu: 500 }), inNetwork(2, { cpu: 500 })] }],
    ['no_agents', { agents: [inNetwork(1, { cpu: 2000 }, { schedulable: false })] }],
  ] as const)('waits with the reason %s', (code, { agents }) => {
    const session = aGang(1, { cpu: 1000 }, 4)
    const { placements, reasons } = decide({ agents, pending: [session] })
    expect(placements).toEqual([])
    expect(reasons.get(session.id)?.code).toBe(code)
    expect(reasons.get(session.id)?.message).not.toContain('{')
    const how = { sequencer: fifo, selector: concentrated, minimum: {} }
    expect(whatIf({ agents, pending: [] }, session, how).reason?.code).toBe(code)
  })

  test('the reason says for how many kernels there is room', () => {
    const agents = [inNetwork(1, { cpu: 2000 }, { occupied: { cpu: 1000 } }), inNetwork(2, { cpu: 2000 })]
    expect(decide({ agents, pending: [aGang(1, { cpu: 1000 }, 4)] }).reasons.get(sessionId(1))?.message).toBe(
      'Needs room for 4 containers at the same time (the hosts have room for 3). It starts once other sessions have ended.',
    )
  })

  test('waits while all networks between hosts are in use, unless one host has room for it', () => {
    const agents = [1, 2, 3].map(n => inNetwork(n, { cpu: 2000 }))
    const pending = [1, 2].map(n => aGang(n, { cpu: 1000 }, 3))
    const { placements, reasons, queue } = decide({ agents, pending, freeHostNetworks: 1 })
    expect(placements).toHaveLength(1)
    expect(queue).toEqual([sessionId(2)])
    expect(reasons.get(sessionId(2))).toMatchObject({
      code: 'no_host_network',
      message: 'All networks between hosts are in use. It starts once another session over several hosts has ended.',
    })
    const none = decide({ agents, pending: [aGang(1, { cpu: 1000 }, 2)], freeHostNetworks: 0 })
    expect(none.placements).toMatchObject([{ agentId: agentId(1) }])
  })

  test('a session for a single host does not use several', () => {
    const agents = [inNetwork(1, { cpu: 1000 }), inNetwork(2, { cpu: 1000 })]
    expect(decide({ agents, pending: [aSession(1, { cpu: 1000 }, { clusterSize: 2 })] }).placements).toEqual([])
  })

  test('avoids a host on which it failed while others have room', () => {
    const agents = [1, 2, 3].map(n => inNetwork(n, { cpu: 1000 }))
    const [placement] = decide({
      agents,
      pending: [aGang(1, { cpu: 1000 }, 2, { failedAgents: [agentId(1)] })],
    }).placements
    expect(placement?.hosts).toEqual([agentId(2), agentId(3)])
  })
})

const everyWay = fc.record({
  agents: fc.array(
    fc.record({
      cpu: fc.nat(8).map(n => n * 1000),
      mem: fc.nat(8).map(n => n * GiB),
      whole: fc.nat(3),
      isNetworked: fc.boolean(),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  sessions: fc.array(
    fc.record({
      requested: fc.record({
        cpu: fc.nat(4).map(n => n * 500),
        mem: fc.nat(4).map(n => n * GiB),
        'cuda.device': fc.nat(1),
      }),
      size: fc.constantFrom(1, 2, 3, 5, 8),
      isGang: fc.boolean(),
    }),
    { maxLength: 12 },
  ),
  sequencer: fc.constantFrom(fifo, lifo, drf),
  selector: fc.constantFrom(concentrated, dispersed, roundRobin),
  spreadClusters: fc.boolean(),
})
type Way = typeof everyWay extends fc.Arbitrary<infer T> ? T : never

const toSnapshot = ({ agents, sessions, spreadClusters }: Way) => ({
  agents: agents.map(({ cpu, mem, whole, isNetworked }, n) =>
    (isNetworked ? inNetwork : anAgent)(n, { cpu, mem, 'cuda.device': whole }),
  ),
  pending: sessions.map(({ requested, size, isGang }, n) =>
    isGang ? aGang(n, requested, size) : aSession(n, requested, { clusterSize: size }),
  ),
  options: { spreadClusters },
})

describe('every plan with sessions over several hosts', () => {
  test('places all kernels or none, gives nothing twice, and uses several hosts only where they are in one network', () => {
    fc.assert(
      fc.property(everyWay, way => {
        const snapshot = toSnapshot(way)
        const { placements, queue, reasons } = plan(snapshot, way.sequencer, way.selector)
        const { agents, pending } = snapshot
        expect([...placements.map(p => p.sessionId), ...queue].toSorted()).toEqual(pending.map(s => s.id).toSorted())
        for (const id of queue) expect(reasons.has(id)).toBe(true)
        for (const placement of placements) {
          const session = pending.find(({ id }) => id === placement.sessionId)
          if (!session) throw new Error('placed what was not asked for')
          const { clusterSize = 1 } = session
          expect(placement.requested).toEqual(totalOf(session))
          const parts = partsOf(placement)
          expect(parts.map(part => part.requested).reduce<ResourceSlots>(addSlots, {})).toEqual(totalOf(session))
          const { kernels = [placement.devices], hosts } = placement
          expect(kernels).toHaveLength(clusterSize)
          for (const own of kernels) expect(own).toHaveLength(session.requested['cuda.device'] ?? 0)
          if (!hosts) continue
          expect(session.clusterMode).toBe('multi-host')
          expect(hosts).toHaveLength(clusterSize)
          expect(parts.length).toBeGreaterThan(1)
          for (const { agentId: on } of parts) expect(agents.find(({ id }) => id === on)?.clusterAddress).toBeDefined()
        }
        for (const agent of agents) {
          const here = placements.flatMap(partsOf).filter(part => part.agentId === agent.id)
          const held = here.map(part => part.requested).reduce<ResourceSlots>(addSlots, {})
          expect(lackingSlots(held, agent.capacity)).toEqual([])
          const given = here.flatMap(part => part.devices.map(device => device.uuid))
          expect(new Set(given).size).toBe(given.length)
        }
      }),
    )
  })

  test('no session that waits would still fit', () => {
    fc.assert(
      fc.property(everyWay, way => {
        const { agents, pending, options } = toSnapshot(way)
        const { placements, queue } = plan({ agents, pending, options }, way.sequencer, way.selector)
        const after = agents.map(agent => {
          const here = placements.flatMap(partsOf).filter(part => part.agentId === agent.id)
          const given = new Set(here.flatMap(part => part.devices.map(device => device.uuid)))
          return {
            ...agent,
            occupied: here.map(part => part.requested).reduce<ResourceSlots>(addSlots, {}),
            devices: agent.devices.map(device => ({ ...device, occupied: given.has(device.uuid) ? 1 : 0 })),
          }
        })
        const left = pending.filter(({ id }) => queue.includes(id))
        expect(plan({ agents: after, pending: left, options }, way.sequencer, way.selector).placements).toEqual([])
      }),
    )
  })
})
