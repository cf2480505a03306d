import { expect, test } from 'vitest'
import { AgentId } from '#manager/contract'
import { type PlanInput, planUpdates, UPDATE_LIMIT_MS, type UpdatedAgent, updateOf } from './plan-updates.ts'

const OLD = 'a'.repeat(64)
const NEW = 'b'.repeat(64)
const T0 = Date.parse('2026-05-01T00:00:00Z')
const id = (number: number) => AgentId.parse(`01900000-0000-7000-8000-00000000000${number}`)
const REQUEST = '01900000-0000-7000-8000-0000000000ff'

const agent = (number: number, more: Partial<UpdatedAgent> = {}): UpdatedAgent => ({
  id: id(number),
  name: `host-${number}`,
  status: 'CONNECTED',
  version: '1.0.0',
  program: { kind: 'line', digest: OLD, updates: true },
  program_update: null,
  removal: null,
  ...more,
})
const updating = {
  state: 'updating',
  id: REQUEST,
  version: '1.1.0',
  digest: NEW,
  at: new Date(T0).toISOString(),
} as const
const failed = { ...updating, state: 'failed', why: 'It did not start.', whyBy: { cause: 'agent_says' } } as const

const plan = (agents: readonly UpdatedAgent[], more: Partial<PlanInput> = {}) =>
  planUpdates({
    agents,
    target: { version: '1.1.0', digest: NEW },
    version: '1.1.0',
    mode: 'automatic',
    mixed: false,
    isReady: () => true,
    isBusy: () => false,
    now: T0 + 1_000,
    ...more,
  })

test('hosts are updated one after the other', () => {
  expect(plan([agent(1), agent(2)]).begin).toBe(id(1))
  expect(plan([agent(1, { program_update: updating }), agent(2)])).toEqual({ done: [], failed: [], begin: undefined })
  const done = agent(1, { program_update: updating, program: { kind: 'line', digest: NEW, updates: true } })
  expect(plan([done, agent(2)])).toMatchObject({ done: [id(1)], begin: id(2) })
})

test.each([
  [
    'the host says so',
    { program: { kind: 'line', digest: OLD, updates: true, failed: { id: REQUEST, why: 'No room.' } } },
    1_000,
  ],
  ['nothing is heard of it', {}, UPDATE_LIMIT_MS + 1],
] as const)('an update has failed when %s, and no other host is updated then', (_when, more, ms) => {
  const now = plan([agent(1, { program_update: updating, ...more }), agent(2)], { now: T0 + ms })
  expect(now).toMatchObject({ failed: [{ id: id(1) }], begin: undefined })
  expect(plan([agent(1, { program_update: failed }), agent(2)]).begin).toBeUndefined()
})

test.each([
  ['keeps its program now', { kind: 'line', digest: OLD, updates: false }],
  ['is a package now', { kind: 'package', digest: null, updates: false }],
  ['has an older agent now', null],
] as const)('an update of a host that %s is over, and stops no other one', (_what, program) => {
  for (const program_update of [updating, failed, { state: 'wanted', at: updating.at } as const])
    expect(plan([agent(1, { program, program_update }), agent(2)])).toEqual({
      done: [id(1)],
      failed: [],
      begin: expect.anything() as unknown,
    })
})

test('a failure of an earlier request says nothing about this one', () => {
  const other = { id: '01900000-0000-7000-8000-0000000000fe', why: 'Then.' }
  const program = { kind: 'line', digest: OLD, updates: true, failed: other } as const
  expect(plan([agent(1, { program_update: updating, program })]).failed).toEqual([])
})

test('another program of the manager ends the pause, and tries the failed host again', () => {
  const target = { version: '1.1.1', digest: 'c'.repeat(64) }
  expect(plan([agent(1, { program_update: failed })], { target })).toMatchObject({ done: [id(1)], begin: undefined })
  expect(plan([agent(1)], { target }).begin).toBe(id(1))
})

test('what an administrator has asked for goes first, in the order of asking, whatever else holds', () => {
  const wanted = (at: string) => ({ program_update: { state: 'wanted', at } }) as const
  const agents = [agent(1), agent(2, wanted('2026-05-01T00:00:02.000Z')), agent(3, wanted('2026-05-01T00:00:01.000Z'))]
  expect(plan([...agents, agent(4, { program_update: failed })], { isBusy: () => true, mode: 'manual' }).begin).toBe(
    id(3),
  )
})

test.each([
  ['people use sessions on it', { isBusy: () => true }],
  ['it is not connected', { isReady: () => false }],
  ['updates are by hand', { mode: 'manual' }],
  ['managers of two versions run', { mixed: true }],
  ['the program is not known yet', { target: undefined }],
] as const)('a host is not updated by itself while %s', (_why, more) => {
  expect(plan([agent(1)], more).begin).toBeUndefined()
})

test.each([
  ['it has the program', { kind: 'line', digest: NEW, updates: true }],
  ['the host keeps its own', { kind: 'line', digest: OLD, updates: false }],
  ['a package has installed it', { kind: 'package', digest: null, updates: false }],
  ['it is of an older version', null],
] as const)('no agent is updated where %s', (_why, program) => {
  expect(plan([agent(1, { program, program_update: { state: 'wanted', at: '' } })]).begin).toBeUndefined()
})

const view = {
  target: { version: '1.1.0', digest: NEW },
  version: '1.1.0',
  mode: 'automatic',
  mixed: false,
  failedAgent: undefined,
  isBusy: () => false,
} as const

test.each([
  [agent(1, { version: '1.1.0', program: { kind: 'line', digest: NEW, updates: true } }), 'current', undefined],
  [agent(1), 'waiting', 'update_in_turn'],
  [agent(1, { status: 'LOST' }), 'waiting', 'update_away'],
  [agent(1, { program_update: updating }), 'updating', undefined],
  [agent(1, { program_update: failed }), 'failed', 'agent_says'],
  [agent(1, { program: { kind: 'line', digest: OLD, updates: false } }), 'by_hand', 'update_off'],
  [agent(1, { program: null }), 'by_hand', undefined],
  [agent(1, { program: null, version: '1.1.0' }), 'current', undefined],
] as const)('administrators see the state of each host %#', (one, state, cause) => {
  const seen = updateOf(one, view)
  expect([seen.state, seen.whyBy?.cause]).toEqual([state, cause])
})

test('a host that Berth does not update has a command', () => {
  const byPackage = updateOf(agent(1, { program: { kind: 'package', digest: null, updates: false } }), view)
  expect(byPackage).toMatchObject({
    state: 'by_hand',
    version: '1.1.0',
    command: 'apt install ./berth-server_1.1.0_*.deb',
  })
})

test('a host that leaves is not updated any more', () => {
  const removal = {
    step: 'draining',
    sessions: 'wait',
    images: false,
    by: '',
    at: '',
    problem: null,
    stays: [],
  } as const
  expect(plan([agent(1, { removal: { ...removal, stays: [] } }), agent(2)]).begin).toBe(id(2))
})
