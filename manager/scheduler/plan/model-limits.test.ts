import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GPU_PARTS, type GpuChoice, type GpuKind, isChosen, isOfModel, type ResourceSlots } from '#manager/contract'
import { dispersed, concentrated } from './selectors.ts'
import { drf } from './drf.ts'
import { neverAllowedModel, type Scope } from './limits.ts'
import { type GivenDevice, partsOfModel } from './model-limits.ts'
import { plan } from './plan.ts'
import { agentId, anAgent, aSession, GiB, sessionId } from './plan-fixtures.ts'
import { fifo, lifo } from './sequencers.ts'
import {
  type AgentSnapshot,
  type DeviceSlot,
  type DeviceSnapshot,
  type GroupSnapshot,
  type PendingSession,
  type Plan,
  totalOf,
} from './snapshot.ts'
import { whatIf } from './what-if.ts'

const kind = (model: string, gib: number, isMig = false): GpuKind => ({ model, memBytes: gib * GiB, isMig })
const H100 = kind('NVIDIA H100 80GB HBM3', 79.6)
const SLICE = kind('NVIDIA H100 80GB HBM3 3g.40gb', 39.5, true)
const T4 = kind('Tesla T4', 15)
const KINDS = [H100, SLICE, T4]

const device = (uuid: string, of: GpuKind, slot: DeviceSlot = 'cuda.device'): DeviceSnapshot => ({
  uuid,
  slot,
  total: slot === 'cuda.device' ? 1 : 100,
  occupied: 0,
  kind: of,
})

function withGpus(n: number, devices: readonly DeviceSnapshot[]): AgentSnapshot {
  const sum = (slot: DeviceSlot) => devices.reduce((all, one) => all + (one.slot === slot ? one.total : 0), 0)
  const capacity = { cpu: 64_000, mem: 64 * GiB, 'cuda.device': sum('cuda.device'), 'cuda.shares': sum('cuda.shares') }
  return anAgent(n, capacity, { devices })
}

const aScope = (models: Record<string, readonly [limit: number, held: number]>, more: Partial<Scope> = {}): Scope => ({
  kind: 'user',
  name: 'someone',
  policy: 'small',
  limits: {},
  maxSessions: null,
  held: {},
  sessions: 0,
  models: Object.entries(models).map(([model, [limit, held]]) => ({
    model,
    limit: Math.round(limit * GPU_PARTS),
    held: Math.round(held * GPU_PARTS),
  })),
  ...more,
})
const asks = (n: number, requested: ResourceSlots = { 'cuda.device': 1 }, gpu?: GpuChoice) =>
  aSession(n, { cpu: 100, ...requested }, { gpu, scopes: ['user u'] })
const decide = (
  agents: readonly AgentSnapshot[],
  pending: readonly PendingSession[],
  scope: Scope,
  more: Partial<GroupSnapshot> = {},
) => plan({ agents, pending, scopes: new Map([['user u', scope]]), ...more }, fifo, concentrated)
const devicesOf = ({ placements }: Plan) => placements.map(({ devices }) => devices.map(({ uuid }) => uuid).join())

describe('a limit on a model', () => {
  test('a session that accepts another model gets it; without another it waits, and says what is held', () => {
    const agents = [withGpus(1, [device('H0', H100), device('H1', H100), device('T', T4)])]
    const outcome = decide(agents, [asks(1), asks(2), asks(3)], aScope({ h100: [2, 1] }))
    expect(devicesOf(outcome)).toEqual(['H0', 'T'])
    expect(outcome.reasons.get(sessionId(3))).toMatchObject({
      code: 'user_policy',
      message:
        'Needs 1 GPU; in use are 2 of the 2 GPU "h100" that resource policy "small" gives each user. Starts when other sessions end.',
    })
  })

  test('a session that insists waits, and those behind it start', () => {
    const agents = [withGpus(1, [device('H', H100), device('T', T4)])]
    const outcome = decide(agents, [asks(1, undefined, { model: 'H100' }), asks(2)], aScope({ H100: [1, 1] }))
    expect(devicesOf(outcome)).toEqual(['T'])
    expect(outcome.reasons.get(sessionId(1))?.message).toBe(
      'Needs 1 GPU (H100); in use are 1 of the 1 GPU "H100" that resource policy "small" gives each user. Starts when other sessions end.',
    )
  })

  test('a session that could only exceed the limit is told that it never starts', () => {
    const agents = [withGpus(1, [device('H0', H100), device('H1', H100)])]
    const [session, scope] = [asks(1, { 'cuda.device': 2 }), aScope({ H100: [1, 0] })]
    expect(decide(agents, [session], scope).reasons.get(session.id)?.message).toContain('ask an admin')
    const devices = agents[0]?.devices ?? []
    expect(neverAllowedModel(session, [scope], devices)?.limit.model).toBe('H100')
    expect(neverAllowedModel(session, [scope], [...devices, device('T', T4)])).toBeUndefined()
    expect(neverAllowedModel(asks(1), [scope], devices)).toBeUndefined()
    expect(neverAllowedModel(asks(1, { 'cuda.device': 0 }), [aScope({ H100: [0, 0] })], devices)).toBeUndefined()
  })

  test('MIG instances and shares count as their parts of a GPU', () => {
    const slices = withGpus(1, [device('M0', SLICE), device('M1', SLICE), device('H', H100)])
    const outcome = decide([slices], [asks(1), asks(2), asks(3)], aScope({ H100: [0.9, 0] }))
    expect(devicesOf(outcome).toSorted()).toEqual(['M0', 'M1'])
    const shared = withGpus(2, [device('S', H100, 'cuda.shares')])
    const shares = [30, 30, 30].map((amount, at) => asks(at + 1, { 'cuda.shares': amount }))
    expect(decide([shared], shares, aScope({ H100: [0.65, 0] })).placements).toHaveLength(2)
    expect(decide([shared], [asks(1, { 'cuda.shares': 30 })], aScope({ H100: [0.3, 0] })).placements).toHaveLength(1)
  })

  test('0 forbids a model, and a limit on another model changes nothing', () => {
    const agents = [withGpus(1, [device('H', H100), device('T', T4)])]
    expect(devicesOf(decide(agents, [asks(1), asks(2)], aScope({ H100: [0, 0] })))).toEqual(['T'])
    expect(devicesOf(decide(agents, [asks(1), asks(2)], aScope({ A100: [0, 0] })))).toEqual(['H', 'T'])
    const cpuOnly = asks(1, { 'cuda.device': 0 })
    expect(decide(agents, [cpuOnly], aScope({ H100: [0, 3] })).placements).toHaveLength(1)
  })

  test('a reservation moves to a GPU that the session may still have', () => {
    const agents = [withGpus(1, [device('H', H100)]), withGpus(2, [{ ...device('T', T4), occupied: 1 }])].map(
      (agent, at) => (at === 1 ? { ...agent, occupied: { 'cuda.device': 1 } } : agent),
    )
    const reservation = {
      sessionId: sessionId(1),
      agentId: agentId(1),
      devices: [{ uuid: 'H', slot: 'cuda.device' as const, amount: 1 }],
    }
    const outcome = decide(agents, [asks(1)], aScope({ H100: [1, 1] }), { reservation, now: 1 })
    expect(outcome.reservation).toMatchObject({ agentId: agentId(2), devices: [{ uuid: 'T' }] })
  })

  test('an interruption and a reservation of one user do not together exceed the limit', () => {
    const agents = [withGpus(1, [device('H0', H100)]), withGpus(2, [device('H1', H100)])]
    const one = { cpu: 100, 'cuda.device': 1 }
    const [held, interrupting] = [1, 2].map(n => aSession(n, one, { scopes: ['user u'], priority: n }))
    if (!held || !interrupting) throw new Error('two sessions')
    const { placements } = decide(agents, [held, interrupting], aScope({ H100: [1, 0] }), {
      now: 1000,
      options: { interruption: { minRunMs: 0, warnMs: 1000 } },
      holding: [],
      reservation: {
        sessionId: held.id,
        agentId: agentId(1),
        devices: [{ uuid: 'H0', slot: 'cuda.device', amount: 1 }],
      },
      interruption: { sessionId: interrupting.id, agentId: agentId(2), at: 500 },
    })
    expect(placements).toHaveLength(1)
  })

  test('what-if offers fewer GPUs of the model', () => {
    const agents = [
      withGpus(
        1,
        ['H0', 'H1', 'H2', 'H3'].map(uuid => device(uuid, H100)),
      ),
    ]
    const answer = whatIf(
      { agents, pending: [], scopes: new Map([['user u', aScope({ H100: [4, 1] })]]) },
      asks(1, { 'cuda.device': 4 }),
      { sequencer: fifo, selector: concentrated, minimum: {} },
    )
    expect(answer).toMatchObject({ reason: { code: 'user_policy' }, smaller: [{ slot: 'cuda.device', amount: 3 }] })
  })
})

describe('whatever GPUs, limits and choices there are', () => {
  const choice = fc.constantFrom<GpuChoice | undefined>(
    undefined,
    undefined,
    { model: 'H100' },
    { model: 'T4' },
    { memory: '30g' },
    { migProfile: '3g.40gb' },
  )
  const modelLimits = fc
    .uniqueArray(
      fc.record({
        model: fc.constantFrom('H100', 'h100 80gb', 'T4', 'A100'),
        limit: fc.integer({ min: 0, max: 20 }).map(n => n * 100),
        held: fc.integer({ min: 0, max: 8 }).map(n => n * 100),
      }),
      { selector: one => one.model, maxLength: 3 },
    )
    .map(models => models as Scope['models'])
  const keys = ['user a', 'keypair k']
  const world = fc.record({
    scopes: fc.tuple(modelLimits, modelLimits),
    hosts: fc.array(fc.array(fc.tuple(fc.constantFrom(...KINDS), fc.boolean()), { minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 3,
    }),
    pending: fc.array(
      fc.record({
        gpus: fc.oneof(
          fc.integer({ min: 0, max: 3 }).map((n): ResourceSlots => ({ 'cuda.device': n })),
          fc.integer({ min: 1, max: 15 }).map((n): ResourceSlots => ({ 'cuda.shares': n * 10 })),
          fc.constant<ResourceSlots>({ 'cuda.device': 1, 'cuda.shares': 50 }),
        ),
        gpu: choice,
        clusterSize: fc.integer({ min: 1, max: 2 }),
        of: fc.subarray(keys),
      }),
      { maxLength: 10 },
    ),
    sequencer: fc.constantFrom(fifo, lifo, drf),
    selector: fc.constantFrom(concentrated, dispersed),
    splitShares: fc.boolean(),
  })
  type World = typeof world extends fc.Arbitrary<infer T> ? T : never
  const build = ({ scopes, hosts, pending, splitShares }: World) => {
    const agents = hosts.map((gpus, host) =>
      withGpus(
        host + 1,
        gpus.map(([of, isShared], at) =>
          device(`${host}-${at}`, of, isShared && !of.isMig ? 'cuda.shares' : 'cuda.device'),
        ),
      ),
    )
    const sessions = pending.map(({ gpus, gpu, clusterSize, of }, at) =>
      aSession(at + 1, { cpu: 1, ...gpus }, { gpu, clusterSize, scopes: of }),
    )
    const ofKey = new Map(
      keys.map((key, at) => [key, aScope({}, { kind: at === 0 ? 'user' : 'keypair', models: scopes[at] ?? [] })]),
    )
    const snapshot: GroupSnapshot = {
      agents,
      pending: sessions,
      scopes: ofKey,
      now: 3_600_000,
      options: { splitShares, reserveAfterMs: 1 },
    }
    return { agents, sessions, scopes: ofKey, snapshot }
  }
  const givenTo = (agents: readonly AgentSnapshot[], { agentId: id, devices }: Plan['placements'][number]) =>
    devices.map(({ uuid, slot, amount }): GivenDevice => ({
      slot,
      amount,
      kind: agents.find(agent => agent.id === id)?.devices.find(one => one.uuid === uuid)?.kind,
    }))

  test('no limit on a model is exceeded, and chosen GPUs stay chosen', () => {
    fc.assert(
      fc.property(world, given => {
        const { agents, sessions, scopes, snapshot } = build(given)
        const { placements, reasons } = plan(snapshot, given.sequencer, given.selector)
        const byId = new Map(sessions.map(session => [session.id, session]))
        for (const [key, { models = [] }] of scopes) {
          const own = placements.filter(({ sessionId: id }) => byId.get(id)?.scopes?.includes(key))
          const devices = own.flatMap(placement => givenTo(agents, placement))
          for (const { model, limit, held } of models) {
            const parts = partsOfModel(model, devices)
            if (parts > 0) expect(held + parts).toBeLessThanOrEqual(limit)
          }
        }
        for (const placement of placements) {
          const { gpu } = byId.get(placement.sessionId) ?? {}
          for (const { kind: of } of givenTo(agents, placement)) if (gpu) expect(of && isChosen(gpu, of)).toBe(true)
        }
        expect(placements.length + reasons.size).toBe(sessions.length)
      }),
      { numRuns: 400 },
    )
  })

  test('a session that waits could not have got free GPUs of any one kind within its limits', () => {
    fc.assert(
      fc.property(world, given => {
        const { agents, sessions, scopes, snapshot } = build(given)
        const { now: _, ...unreserved } = snapshot
        const { placements, reasons } = plan(unreserved, given.sequencer, given.selector)
        const byId = new Map(sessions.map(session => [session.id, session]))
        const used = new Map<string, number>()
        for (const { devices } of placements)
          for (const { uuid, amount } of devices) used.set(uuid, (used.get(uuid) ?? 0) + amount)
        const restOf = (session: PendingSession, of: GpuKind) =>
          (session.scopes ?? []).flatMap(key =>
            (scopes.get(key)?.models ?? [])
              .filter(({ model }) => isOfModel(model, of))
              .map(({ model, limit, held }) => {
                const own = placements.filter(({ sessionId: id }) => byId.get(id)?.scopes?.includes(key))
                return (
                  limit -
                  held -
                  partsOfModel(
                    model,
                    own.flatMap(placement => givenTo(agents, placement)),
                  )
                )
              }),
          )
        for (const id of reasons.keys()) {
          const session = byId.get(id)
          if (!session) throw new Error('a reason of no session')
          const { 'cuda.device': devices = 0, 'cuda.shares': shares = 0 } = totalOf(session)
          if (devices === 0 || shares > 0) continue
          for (const of of KINDS) {
            const gpus: GivenDevice[] = [{ slot: 'cuda.device', kind: of, amount: devices }]
            if (session.gpu && !isChosen(session.gpu, of)) continue
            if (
              restOf(session, of).some(rest => partsOfModel(of.isMig ? 'H100' : of === T4 ? 'T4' : 'H100', gpus) > rest)
            )
              continue
            for (const agent of agents) {
              const free = agent.devices.filter(
                one => one.slot === 'cuda.device' && one.kind === of && !used.has(one.uuid),
              )
              expect(free.length).toBeLessThan(devices)
            }
          }
        }
      }),
      { numRuns: 400 },
    )
  })

  test('limits that nobody reaches do not change plans', () => {
    fc.assert(
      fc.property(world, given => {
        const { snapshot } = build(given)
        const wide = aScope({ H100: [1000, 0], T4: [1000, 3] })
        const scopes = new Map(keys.map(key => [key, wide]))
        expect(plan({ ...snapshot, scopes }, given.sequencer, given.selector)).toEqual(
          plan({ ...snapshot, scopes: new Map() }, given.sequencer, given.selector),
        )
      }),
      { numRuns: 150 },
    )
  })
})
