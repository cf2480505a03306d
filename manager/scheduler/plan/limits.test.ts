import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addSlots, type ResourceSlots, SLOT_NAMES } from '#manager/contract'
import { Limits, neverAllowed, type Scope } from './limits.ts'
import { plan } from './plan.ts'
import { aSession, anAgent, GiB, sessionId } from './plan-fixtures.ts'
import { concentrated } from './selectors.ts'
import { drf } from './drf.ts'
import { fifo, lifo } from './sequencers.ts'
import { type GroupSnapshot, type PendingSession, totalOf } from './snapshot.ts'
import { whatIf } from './what-if.ts'

const aScope = (kind: Scope['kind'], limits: ResourceSlots, more: Partial<Scope> = {}): Scope => ({
  kind,
  name: `the-${kind}`,
  policy: kind === 'user' || kind === 'keypair' ? 'small' : null,
  limits,
  maxSessions: null,
  held: {},
  sessions: 0,
  ...more,
})
const ALL = ['user u', 'keypair k', 'group g', 'domain d']
const scopesOf = (...scopes: Scope[]) =>
  new Map(scopes.map(scope => [ALL.find(key => key.startsWith(scope.kind)) ?? '', scope]))
const agents = [anAgent(1, { cpu: 64_000, mem: 64 * GiB })]
const run = (pending: PendingSession[], scopes: Map<string, Scope>, more: Partial<GroupSnapshot> = {}) =>
  plan({ agents, pending, scopes, ...more }, fifo, concentrated)

describe('a session over a limit', () => {
  test('the session does not block others: a smaller session behind it starts', () => {
    const scopes = scopesOf(aScope('user', { cpu: 4000 }, { held: { cpu: 2000 }, sessions: 1 }))
    const pending = [
      aSession(1, { cpu: 3000 }, { scopes: ['user u'] }),
      aSession(2, { cpu: 2000 }, { scopes: ['user u'] }),
      aSession(3, { cpu: 8000 }),
      aSession(4, { cpu: 100 }, { scopes: ['user u'] }),
    ]
    const { placements, reasons } = run(pending, scopes)
    expect(placements.map(one => one.sessionId)).toEqual([sessionId(2), sessionId(3)])
    expect(reasons.get(sessionId(1))).toEqual({
      code: 'user_policy',
      message:
        'Needs 3 CPU; 2 left of the 4 CPU that resource policy "small" gives each user. Starts when other sessions end.',
      cause: 'needs_of_user',
      values: { needed: '3 CPU', left: '2', limit: '4 CPU', policy: 'small' },
      more: [{ cause: 'starts_when_others_end' }],
      needed: { cpu: '3' },
      available: { cpu: '2' },
    })
    expect(reasons.get(sessionId(4))?.code).toBe('user_policy')
  })

  test.each([
    [
      1,
      1,
      'Resource policy "small" allows 1 session at the same time; 1 session is running. Starts when one of them ends.',
    ],
    [
      2,
      3,
      'Resource policy "small" allows 2 sessions at the same time; 3 sessions are running. Starts when one of them ends.',
    ],
  ])(
    'the reason for a limit of %s running sessions has both numbers in words that fit',
    (maxSessions, sessions, said) => {
      const scopes = scopesOf(aScope('user', {}, { maxSessions, sessions }))
      const { reasons } = run([aSession(1, { cpu: 1000 }, { scopes: ['user u'] })], scopes)
      expect(reasons.get(sessionId(1))?.message).toBe(said)
    },
  )

  test('the session gets the first limit that applies, in a fixed order', () => {
    const all = ALL.map(key => aScope(key.split(' ')[0] as Scope['kind'], { cpu: 1000 }))
    const reasonOf = (scopes: Scope[], groupAllowed?: boolean) =>
      run([aSession(1, { cpu: 2000 }, { scopes: ALL, groupAllowed })], scopesOf(...scopes)).reasons.get(sessionId(1))
        ?.code
    const [user, keypair, group, domain] = all
    if (!user || !keypair || !group || !domain) throw new Error('four scopes')
    const full = { maxSessions: 1, sessions: 1 }
    expect(reasonOf([user, { ...keypair, ...full }, group, domain], false)).toBe('concurrency_limit')
    expect(reasonOf([user, keypair, group, domain], false)).toBe('user_policy')
    expect(reasonOf([keypair, group, domain], false)).toBe('keypair_policy')
    expect(reasonOf([group, domain], false)).toBe('group_limit')
    expect(reasonOf([domain], false)).toBe('domain_limit')
    expect(reasonOf([], false)).toBe('group_not_allowed')
    expect(reasonOf([])).toBeUndefined()
  })

  test('the session loses its reservation: what was held for it goes to others', () => {
    const scopes = scopesOf(aScope('user', { cpu: 1000 }))
    const holder = aSession(1, { cpu: 2000 }, { scopes: ['user u'] })
    const agent = anAgent(1, { cpu: 2000, mem: GiB })
    const reservation = { sessionId: holder.id, agentId: agent.id, devices: [] }
    const outcome = run([holder, aSession(2, { cpu: 2000 })], scopes, { agents: [agent], reservation, now: 10 })
    expect(outcome.placements.map(one => one.sessionId)).toEqual([sessionId(2)])
    expect(outcome.reservation).toBeUndefined()
  })

  test('the session counts all of its kernels', () => {
    const scopes = scopesOf(aScope('group', { cpu: 5000 }))
    const cluster = (n: number, clusterSize: number) => aSession(n, { cpu: 1000 }, { clusterSize, scopes: ['group g'] })
    const { placements, reasons } = run([cluster(1, 3), cluster(2, 3), cluster(3, 2)], scopes)
    expect(placements.map(one => one.sessionId)).toEqual([sessionId(1), sessionId(3)])
    expect(reasons.get(sessionId(2))).toMatchObject({
      code: 'group_limit',
      needed: { cpu: '3' },
      available: { cpu: '2' },
    })
  })
})

test('parts of a core and of a GPU add up exactly: three times 0.3 are 0.9', () => {
  const scopes = scopesOf(aScope('user', { cpu: 900, 'cuda.shares': 90 }))
  const gpu = [anAgent(1, { cpu: 64_000, mem: GiB, 'cuda.shares': 400 })]
  const pending = Array.from({ length: 4 }, (_, n) =>
    aSession(n + 1, { cpu: 300, 'cuda.shares': 30 }, { scopes: ['user u'] }),
  )
  const { placements, reasons } = run(pending, scopes, { agents: gpu })
  expect(placements).toHaveLength(3)
  expect(reasons.get(sessionId(4))).toMatchObject({
    needed: { cpu: '0.3', 'cuda.shares': '0.3' },
    available: { cpu: '0', 'cuda.shares': '0' },
  })
})

test('a slot that is not requested does not delay a session, even if its lowered limit is exceeded', () => {
  const scopes = scopesOf(aScope('user', { cpu: 4000, 'cuda.device': 1 }, { held: { 'cuda.device': 2 } }))
  expect(run([aSession(1, { cpu: 1000 }, { scopes: ['user u'] })], scopes).placements).toHaveLength(1)
})

test('a request that exceeds a limit by itself is refused with the limit', () => {
  const scopes = [aScope('user', { cpu: 4000 }), aScope('domain', { mem: GiB })]
  expect(neverAllowed({ requested: { cpu: 4000 } }, scopes)).toBeUndefined()
  expect(neverAllowed({ requested: { cpu: 2000 }, clusterSize: 3 }, scopes)).toMatchObject({
    slot: 'cpu',
    needed: 6000,
  })
  expect(neverAllowed({ requested: { mem: 2 * GiB } }, scopes)?.scope.kind).toBe('domain')
  expect(neverAllowed({ requested: {} }, [aScope('keypair', {}, { maxSessions: 0 })])).toMatchObject({ slot: null })
})

test('what-if offers a smaller request within the limits', () => {
  const scopes = scopesOf(aScope('user', { cpu: 4000 }, { held: { cpu: 1500 } }))
  const ask = (cpu: number, more: Partial<PendingSession> = {}, limits = scopes) =>
    whatIf({ agents, pending: [], scopes: limits }, aSession(9, { cpu }, { scopes: ['user u'], ...more }), {
      sequencer: fifo,
      selector: concentrated,
      minimum: {},
    })
  expect(ask(2500).agentId).not.toBeNull()
  expect(ask(3000)).toMatchObject({ reason: { code: 'user_policy' }, smaller: [{ slot: 'cpu', amount: 2500 }] })
  expect(ask(1000, { groupAllowed: false })).toMatchObject({ reason: { code: 'group_not_allowed' }, smaller: [] })
  const full = scopesOf(aScope('user', {}, { maxSessions: 2, sessions: 2 }))
  expect(ask(1000, {}, full)).toMatchObject({ reason: { code: 'concurrency_limit' }, smaller: [] })
})

describe('plans under any limits', () => {
  const amount = (max: number, unit: number) => fc.integer({ min: 0, max }).map(n => n * unit)
  const slots = fc.record(
    { cpu: amount(8, 500), mem: amount(8, GiB), 'cuda.shares': amount(15, 10) },
    { requiredKeys: [] },
  ) as fc.Arbitrary<ResourceSlots>
  const scope = (kind: Scope['kind']) =>
    fc.record({
      kind: fc.constant(kind),
      name: fc.constant(kind),
      policy: fc.constant('p'),
      limits: slots,
      maxSessions: fc.option(fc.integer({ min: 0, max: 4 })),
      held: slots,
      sessions: fc.integer({ min: 0, max: 3 }),
    }) as fc.Arbitrary<Scope>
  const keys = ['user a', 'user b', 'keypair k', 'group g', 'group h', 'domain d']
  const world = fc.record({
    scopes: fc
      .tuple(...keys.map(key => scope(key.split(' ')[0] as Scope['kind'])))
      .map(list => new Map(list.map((one, index) => [keys[index] ?? '', one]))),
    pending: fc.array(
      fc.record({
        requested: slots,
        clusterSize: fc.integer({ min: 1, max: 3 }),
        owner: fc.constantFrom('a', 'b'),
        subset: fc.subarray(keys),
      }),
      { maxLength: 12 },
    ),
    cpu: fc.integer({ min: 1, max: 12 }),
    sequencer: fc.constantFrom(fifo, lifo, drf),
  })

  test('no limit is ever exceeded, and no session that waits for a limit could have started', () => {
    fc.assert(
      fc.property(world, ({ scopes, pending, cpu, sequencer }) => {
        const sessions = pending.map(({ requested, clusterSize, owner, subset }, n) =>
          aSession(n + 1, requested, { clusterSize, ownerId: owner, scopes: subset }),
        )
        const group = [anAgent(1, { cpu: cpu * 1000, mem: 64 * GiB, 'cuda.shares': 200 })]
        const { placements, reasons } = plan({ agents: group, pending: sessions, scopes }, sequencer, concentrated)
        const placed = new Set(placements.map(one => one.sessionId))
        for (const [key, { limits, held, sessions: count, maxSessions }] of scopes) {
          const own = sessions.filter(one => placed.has(one.id) && one.scopes?.includes(key))
          for (const slot of SLOT_NAMES) {
            const added = own.reduce<ResourceSlots>((sum, one) => addSlots(sum, totalOf(one)), {})[slot] ?? 0
            if (added > 0) expect((held[slot] ?? 0) + added).toBeLessThanOrEqual(limits[slot] ?? Infinity)
          }
          if (own.length > 0) expect(count + own.length).toBeLessThanOrEqual(maxSessions ?? Infinity)
        }
        // Work-conserving: with all placed sessions counted, no waiting session is within the limits that its reason names.
        const ledger = new Limits(scopes)
        for (const one of sessions) if (placed.has(one.id)) ledger.take(one)
        const codes = ['concurrency_limit', 'user_policy', 'keypair_policy', 'group_limit', 'domain_limit']
        for (const one of sessions) {
          const reason = reasons.get(one.id)
          if (!reason) continue
          if (codes.includes(reason.code)) expect(ledger.allows(one)).toBe(false)
        }
        expect(placements.length + reasons.size).toBe(sessions.length)
      }),
      { numRuns: 300 },
    )
  })

  test('limits that apply to nobody do not change plans', () => {
    fc.assert(
      fc.property(world, ({ pending, cpu, sequencer }) => {
        const sessions = pending.map(({ requested, clusterSize }, n) => aSession(n + 1, requested, { clusterSize }))
        const snapshot = {
          agents: [anAgent(1, { cpu: cpu * 1000, mem: 64 * GiB, 'cuda.shares': 200 })],
          pending: sessions,
        }
        const unlimited = new Map(keys.map(key => [key, aScope('user', {}, { held: { cpu: 1e6 }, sessions: 99 })]))
        const limited = { ...snapshot, scopes: unlimited, pending: sessions.map(one => ({ ...one, scopes: keys })) }
        expect(plan(limited, sequencer, concentrated)).toEqual(plan(snapshot, sequencer, concentrated))
      }),
      { numRuns: 100 },
    )
  })
})
