import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type GpuChoice, type GpuKind, isChosen, type ResourceSlots } from '#manager/contract'
import {
  type AgentSnapshot,
  concentrated,
  type DeviceSlot,
  type DeviceSnapshot,
  dispersed,
  drf,
  fifo,
  FreeCapacity,
  type GroupSnapshot,
  type HoldingSession,
  type PendingSession,
  plan,
  type Plan,
  roundRobin,
  type Selector,
  totalOf,
  whatIf,
} from './index.ts'
import { agentId, anAgent, aSession, busy, GiB, sessionId } from './plan-fixtures.ts'

const kind = (model: string, gib: number, isMig = false): GpuKind => ({ model, memBytes: gib * GiB, isMig })
const H100 = kind('NVIDIA H100 80GB HBM3', 79.6)
const T4 = kind('Tesla T4', 15)
const SLICE = kind('NVIDIA H100 80GB HBM3 3g.40gb', 39.5, true)

const gpu = (uuid: string, of: GpuKind, slot: DeviceSlot = 'cuda.device'): DeviceSnapshot => ({
  uuid,
  slot,
  total: slot === 'cuda.device' ? 1 : 100,
  occupied: 0,
  kind: of,
})

/** An agent with these GPUs, and enough of all else. */
function withGpus(n: number, devices: readonly DeviceSnapshot[], more: Partial<AgentSnapshot> = {}): AgentSnapshot {
  const sum = (slot: DeviceSlot) =>
    devices.filter(device => device.slot === slot).reduce((all, { total }) => all + total, 0)
  const capacity = {
    cpu: 64_000,
    mem: 64 * GiB,
    'cuda.device': sum('cuda.device'),
    'cuda.shares': sum('cuda.shares'),
  }
  return anAgent(n, capacity, { devices, ...more })
}

const choosing = (n: number, choice: GpuChoice, requested: ResourceSlots = { cpu: 1000, 'cuda.device': 1 }) =>
  aSession(n, requested, { gpu: choice })
const decide = (
  agents: readonly AgentSnapshot[],
  pending: readonly PendingSession[],
  more: Partial<GroupSnapshot> = {},
) => plan({ agents, pending, ...more }, fifo, concentrated)
const devicesOf = ({ placements }: Plan) => placements.flatMap(({ devices }) => devices.map(({ uuid }) => uuid))

describe('a choice of GPUs', () => {
  test('only a chosen GPU is given, on whichever host and beside whichever others it is', () => {
    const agents = [withGpus(1, [gpu('T', T4)]), withGpus(2, [gpu('A', T4), gpu('H', H100), gpu('M', SLICE)])]
    expect(devicesOf(decide(agents, [choosing(1, { model: 'h100' })]))).toEqual(['H'])
    expect(devicesOf(decide(agents, [choosing(1, { migProfile: '3g.40gb' })]))).toEqual(['M'])
    expect(devicesOf(decide(agents, [choosing(1, { memory: '80g' })]))).toEqual(['H'])
    expect(
      devicesOf(
        decide(
          [withGpus(1, [gpu('S', H100, 'cuda.shares'), gpu('A', T4, 'cuda.shares')])],
          [choosing(1, { model: 'T4' }, { 'cuda.shares': 30 })],
        ),
      ),
    ).toEqual(['A'])
  })

  test('each kernel of a cluster gets chosen GPUs, all on one host', () => {
    const agents = [
      withGpus(1, [gpu('H0', H100), gpu('T0', T4), gpu('T1', T4)]),
      withGpus(2, [gpu('T2', T4), gpu('H1', H100), gpu('H2', H100)]),
    ]
    const session = { ...choosing(1, { model: 'H100' }), clusterSize: 2 }
    const [placement] = decide(agents, [session]).placements
    expect(placement?.kernels?.map(own => own.map(({ uuid }) => uuid))).toEqual([['H1'], ['H2']])
    expect(decide(agents.slice(0, 1), [session]).reasons.get(session.id)).toMatchObject({
      code: 'too_large',
      message: 'Needs 2 GPU (H100) (the largest host has 1). Ask for less.',
    })
  })

  test('it waits while the chosen GPUs are busy, and names them and what is free', () => {
    const agent = busy(withGpus(1, [gpu('H0', H100), gpu('H1', H100), gpu('T', T4)]), [
      { slots: { 'cuda.device': 1 }, devices: [{ uuid: 'H0', slot: 'cuda.device', amount: 1 }], latestEnd: null },
    ])
    const session = choosing(1, { model: 'H100' }, { 'cuda.device': 2 })
    expect(decide([agent], [session]).reasons.get(session.id)).toMatchObject({
      code: 'capacity',
      message: 'Needs 2 GPU (H100) (at most 1 free). Starts when other sessions end.',
      needed: { 'cuda.device': '2' },
      available: { 'cuda.device': '1' },
    })
  })

  test('a model that no host has is told, with the models that there are', () => {
    const session = choosing(1, { model: 'B200' })
    const agents = [withGpus(1, [gpu('T', T4), gpu('S', H100, 'cuda.shares')]), withGpus(2, [gpu('T', T4)])]
    expect(decide(agents, [session]).reasons.get(session.id)).toMatchObject({
      code: 'gpu_nowhere',
      message:
        'No host has a working GPU "B200". The GPUs here: NVIDIA H100 80GB HBM3 (80 GiB, fGPU), Tesla T4 (15 GiB). Choose one of these, or any.',
    })
    expect(decide([anAgent(1, { cpu: 4000 })], [session]).reasons.get(session.id)?.message).toBe(
      'No host has a working GPU, and so none "B200".',
    )
    const away = withGpus(3, [gpu('B', kind('NVIDIA B200', 179))], { connected: false })
    expect(decide([...agents, away], [session]).reasons.get(session.id)?.message).toBe(
      'Every host with a GPU "B200" is disconnected or paused.',
    )
  })

  test('the forecast offers fewer of the chosen GPUs, not those of another model', () => {
    const agents = [withGpus(1, [gpu('H', H100), gpu('T0', T4), gpu('T1', T4)])]
    const session = choosing(1, { model: 'H100' }, { cpu: 1000, 'cuda.device': 2 })
    const answer = whatIf({ agents, pending: [] }, session, { sequencer: fifo, selector: concentrated, minimum: {} })
    expect(answer.smaller).toEqual([{ slot: 'cuda.device', amount: 1 }])
  })

  test('a reservation holds chosen GPUs; the others stay open to everybody', () => {
    const agent = busy(withGpus(1, [gpu('H0', H100), gpu('H1', H100), gpu('T', T4)]), [
      { slots: { 'cuda.device': 1 }, devices: [{ uuid: 'H0', slot: 'cuda.device', amount: 1 }], latestEnd: null },
    ])
    const first = choosing(1, { model: 'H100' }, { 'cuda.device': 2 })
    const others = [choosing(2, { model: 'H100' }, { 'cuda.device': 1 }), aSession(3, { 'cuda.device': 1 })]
    const made = decide([agent], [first, ...others], { now: 3_600_000 })
    expect(made.reservation?.devices.map(({ uuid }) => uuid).toSorted()).toEqual(['H0', 'H1'])
    expect(made.reasons.get(first.id)?.message).toBe(
      'Next in line on agent-1. Waits for 1 GPU (H100) on agent-1; the time is not known.',
    )
    expect(made.placements.map(({ sessionId: id }) => id)).toEqual([sessionId(3)])
    expect(devicesOf(made)).toEqual(['T'])
  })

  test('an interruption stops those who hold chosen GPUs', () => {
    const holding = (n: number, uuid: string): HoldingSession => ({
      id: sessionId(n),
      agentId: agentId(1),
      priority: -1,
      slots: { 'cuda.device': 1 },
      devices: [{ uuid, slot: 'cuda.device', amount: 1 }],
      // The holder of the T4 would lose less work.
      ranMs: n * 1000,
      state: 'may',
    })
    const all = [holding(11, 'T'), holding(12, 'H')]
    const agent = busy(
      withGpus(1, [gpu('H', H100), gpu('T', T4)]),
      all.map(({ slots, devices }) => ({ slots, devices, latestEnd: null })),
    )
    const options = { interruption: { minRunMs: 0, warnMs: 1000 } }
    const { interruption } = decide([agent], [choosing(1, { model: 'H100' })], { now: 5000, options, holding: all })
    expect(interruption?.victims).toEqual([sessionId(12)])
  })
})

const KINDS = [H100, T4, SLICE, kind('NVIDIA A100-SXM4-40GB', 40)]
const CHOICES: (GpuChoice | undefined)[] = [
  undefined,
  { model: 'H100' },
  { model: 'T4' },
  { model: 'A100 40GB', memory: '40g' },
  { memory: '16g' },
  { migProfile: '3g.40gb' },
]
const someAgents = fc
  .array(
    fc.array(
      fc.record({ kind: fc.constantFrom(...KINDS), shared: fc.boolean(), used: fc.constantFrom(0, 0, 30, 100) }),
      {
        maxLength: 5,
      },
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map(hosts =>
    hosts.map((devices, n) => {
      const gpus = devices.map(({ kind: of, shared, used }, index) => ({
        ...gpu(`G${n}-${index}`, of, shared ? 'cuda.shares' : 'cuda.device'),
        occupied: shared ? used : used === 0 ? 0 : 1,
      }))
      const sum = (slot: DeviceSlot) =>
        gpus.filter(device => device.slot === slot).reduce((all, { occupied }) => all + occupied, 0)
      return withGpus(n, gpus, { occupied: { 'cuda.device': sum('cuda.device'), 'cuda.shares': sum('cuda.shares') } })
    }),
  )
const somePending = fc
  .array(
    fc.record({
      choice: fc.constantFrom(...CHOICES),
      amount: fc.oneof(
        fc.integer({ min: 1, max: 3 }).map(count => ({ 'cuda.device': count })),
        fc.integer({ min: 1, max: 220 }).map(count => ({ 'cuda.shares': count })),
      ),
      clusterSize: fc.constantFrom(1, 1, 2, 3),
      ownerId: fc.constantFrom('ada', 'bob'),
    }),
    { maxLength: 10 },
  )
  .map(sessions =>
    sessions.map(({ choice, amount, ...rest }, n) => aSession(n, { cpu: 1000, ...amount }, { ...rest, gpu: choice })),
  )
const someSelector = fc.constantFrom<Selector[]>(concentrated, dispersed, roundRobin)
const someOptions = fc.record({
  splitShares: fc.boolean(),
  reserveAfterMs: fc.constantFrom(0, Number.MAX_SAFE_INTEGER),
})

describe('whatever GPUs there are and whatever is chosen', () => {
  test('no session gets a GPU that it did not choose, no GPU is given twice, and a reservation holds chosen ones', () => {
    fc.assert(
      fc.property(someAgents, somePending, someSelector, someOptions, (agents, pending, selector, options) => {
        const { placements, reservation } = plan({ agents, pending, options, now: 1e6 }, drf, selector)
        const all = new Map(agents.flatMap(({ devices }) => devices.map(device => [device.uuid, device])))
        const taken = new Map([...all].map(([uuid, { occupied }]) => [uuid, occupied]))
        const choiceOf = (id: string) => pending.find(session => session.id === id)?.gpu
        const isRight = (id: string, uuid: string) => {
          const [choice, of] = [choiceOf(id), all.get(uuid)?.kind]
          return choice === undefined || (of !== undefined && isChosen(choice, of))
        }
        for (const { sessionId: id, devices, requested } of placements) {
          const given = devices.reduce((sum, { amount }) => sum + amount, 0)
          expect(given).toBe((requested['cuda.device'] ?? 0) + (requested['cuda.shares'] ?? 0))
          for (const { uuid, amount } of devices) {
            expect(isRight(id, uuid)).toBe(true)
            taken.set(uuid, (taken.get(uuid) ?? 0) + amount)
          }
        }
        for (const [uuid, { total }] of all) expect(taken.get(uuid)).toBeLessThanOrEqual(total)
        for (const { uuid } of reservation?.devices ?? [])
          expect(isRight(reservation?.sessionId ?? '', uuid)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  test('a session whose chosen GPUs are free on a host starts, and the reason of one that waits names its choice', () => {
    fc.assert(
      fc.property(someAgents, somePending, someSelector, fc.boolean(), (agents, pending, selector, splitShares) => {
        const options = { splitShares }
        const { placements, reasons } = plan({ agents, pending, options }, fifo, selector)
        const after = agents.map(agent => {
          const here = placements.filter(placement => placement.agentId === agent.id)
          const given = here.map(({ requested, devices }) => ({ slots: requested, devices, latestEnd: null }))
          return withOccupants(agent, given)
        })
        for (const session of pending) {
          const reason = reasons.get(session.id)
          if (!reason) continue
          const { gpu: choice, requested, clusterSize } = session
          // The host as if it had the chosen GPUs only: what the plan knows about choices plays no part here.
          const fitting = after.filter(agent => {
            const devices = agent.devices.filter(({ kind: of }) => !choice || (of && isChosen(choice, of)))
            return new FreeCapacity({ ...agent, devices }, 'now', options).fits(requested, false, clusterSize)
          })
          expect(fitting).toEqual([])
          const isForGpus = reason.needed?.['cuda.device'] !== undefined || reason.needed?.['cuda.shares'] !== undefined
          if (choice && isForGpus && reason.code !== 'queued_behind')
            expect(reason.message).toMatch(/\((H100|T4|A100|≥|MIG)/)
          expect(totalOf(session)).toBeDefined()
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

function withOccupants(agent: AgentSnapshot, occupants: NonNullable<AgentSnapshot['occupants']>): AgentSnapshot {
  const given = occupants.flatMap(({ devices }) => devices)
  const more = (slot: 'cpu' | DeviceSlot) => occupants.reduce((sum, { slots }) => sum + (slots[slot] ?? 0), 0)
  return {
    ...agent,
    occupied: {
      cpu: (agent.occupied.cpu ?? 0) + more('cpu'),
      'cuda.device': (agent.occupied['cuda.device'] ?? 0) + more('cuda.device'),
      'cuda.shares': (agent.occupied['cuda.shares'] ?? 0) + more('cuda.shares'),
    },
    devices: agent.devices.map(device => ({
      ...device,
      occupied:
        device.occupied + given.filter(({ uuid }) => uuid === device.uuid).reduce((sum, { amount }) => sum + amount, 0),
    })),
  }
}
