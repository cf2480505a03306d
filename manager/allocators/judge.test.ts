import { beforeEach, describe, expect, test } from 'vitest'
import { ManagerId, SessionId, type SessionStatus } from '#manager/contract'
import { type AllocatedSession } from '../store/sessions/allocations.ts'
import { newId } from '../store/new-id.ts'
import { type Allocation } from './allocator.ts'
import { actOnEnd, createMemory, judge, type Memory, NOT_KNOWN, surplus } from './judge.ts'
import { nameOf, prefixOf, sessionOf } from './names.ts'

const BERTH = newId(ManagerId)
const ID = newId(SessionId)
const NAME = nameOf(BERTH, ID, 1)
const IDENTITY = { id: '21', submittedAt: 100, startedAt: 110, restarts: 0 }
const TIMES = { confirmMs: 5_000, appearMs: 60_000, retryMs: 30_000, warnMs: 120_000, stopMs: 15_000 }
const GRANT: Allocation = {
  name: NAME,
  user: null,
  identity: IDENTITY,
  state: 'granted',
  nodes: [{ name: 'g1', gpus: [0] }],
  isPreempted: false,
  endsAt: null,
}
const WAITS: Allocation = {
  name: NAME,
  user: null,
  identity: { ...IDENTITY, startedAt: null },
  state: 'waiting',
  reason: 'Resources',
  expectedAt: null,
}

const session = (
  status: SessionStatus,
  request: Partial<NonNullable<AllocatedSession['request']>> | null = {},
): AllocatedSession => ({
  id: ID,
  status,
  resourceGroup: 'default',
  nodes: 1,
  slurmEndsAt: null,
  isInterruptible: false,
  interruptAt: null,
  request: request && { run: 1, name: NAME, user: null, askedAgoMs: 120_000, granted: null, ...request },
})

let memory: Memory
beforeEach(() => (memory = createMemory()))
const at = (nowMs: number, allocations: readonly Allocation[], ...sessions: AllocatedSession[]) =>
  judge({ allocations, sessions, mayAsk: new Set([ID]), nowMs, timeMs: nowMs }, memory, TIMES)

describe('a waiting session', () => {
  test('requests an allocation once, if Berth lets it start', () => {
    expect(at(0, [], session('PENDING', null))).toEqual([{ act: 'ask', id: ID, run: 1 }])
    const held = {
      allocations: [],
      sessions: [session('PENDING', null)],
      mayAsk: new Set<SessionId>(),
      nowMs: 0,
      timeMs: 0,
    }
    expect(judge(held, memory, TIMES)).toEqual([])
  })

  test("shows the engine's reason", () => {
    expect(at(0, [WAITS], session('PENDING'))).toMatchObject([
      { act: 'show', reason: { code: 'allocation_waits', cause: 'slurm_resources' } },
    ])
  })

  test('is placed on a grant that a later look confirms', () => {
    expect(at(0, [GRANT], session('PENDING'))).toMatchObject([{ act: 'show', reason: { cause: 'slurm_confirming' } }])
    expect(at(4_000, [GRANT], session('PENDING'))).toMatchObject([{ act: 'show' }])
    expect(at(5_000, [GRANT], session('PENDING'))).toMatchObject([{ act: 'place', sinceMs: 5_000, allocation: GRANT }])
  })

  test('waits again for a grant whose number came twice, after a controller that had lost its last second', () => {
    const second = { ...GRANT, identity: { ...IDENTITY, submittedAt: 130, startedAt: 131 } }
    at(0, [GRANT], session('PENDING'))
    expect(at(6_000, [second], session('PENDING'))).toMatchObject([
      { act: 'show', reason: { cause: 'slurm_confirming' } },
    ])
  })

  test('is not asked for again while its request may still appear, nor after one look without it', () => {
    expect(at(0, [], session('PENDING', { askedAgoMs: 1_000 }))).toMatchObject([{ act: 'show' }])
    expect(at(0, [], session('PENDING', { askedAgoMs: 59_000 }))).toMatchObject([{ act: 'show' }])
    expect(at(0, [], session('PENDING'))).toEqual([{ act: 'ask', id: ID, run: 2 }])
  })

  test('is asked for again where its client was killed, and says that it has lost its place', () => {
    const failed: Allocation = { name: NAME, user: null, identity: IDENTITY, state: 'ended', end: 'failed' }
    expect(at(0, [failed], session('PENDING', { askedAgoMs: 5_000 }))).toMatchObject([
      { act: 'show', reason: { cause: 'slurm_asked_again' } },
    ])
    expect(at(0, [failed], session('PENDING'))).toEqual([{ act: 'ask', id: ID, run: 2 }])
  })

  const cancelled: Allocation = { name: NAME, user: null, identity: IDENTITY, state: 'ended', end: 'cancelled' }

  test('is cancelled with its job, which two lists in a row show', () => {
    at(0, [WAITS], session('PENDING'))
    expect(at(1, [cancelled], session('PENDING'))).toEqual([])
    expect(at(2, [cancelled], session('PENDING'))).toMatchObject([
      { act: 'end', isWaiting: true, reason: { cause: 'slurm_cancelled' } },
    ])
  })

  test('is asked for again where its client was told to end together with the manager', () => {
    expect(at(0, [cancelled], session('PENDING', { askedAgoMs: 5_000 }))).toMatchObject([
      { act: 'show', reason: { cause: 'slurm_asked_again' } },
    ])
    expect(at(0, [cancelled], session('PENDING'))).toEqual([{ act: 'ask', id: ID, run: 2 }])
  })

  test('shows a refusal, and is asked for again after a while', () => {
    memory.refused.set(NAME, 'Invalid account')
    expect(at(0, [], session('PENDING', { askedAgoMs: 1_000 }))).toMatchObject([
      { act: 'show', reason: { code: 'allocation_refused', message: 'Slurm refused the request: Invalid account' } },
    ])
    expect(at(0, [], session('PENDING'))).toEqual([{ act: 'ask', id: ID, run: 2 }])
  })

  test('gets another allocation after a failed start', () => {
    expect(at(0, [GRANT], session('PENDING', { granted: IDENTITY }))).toEqual([{ act: 'ask', id: ID, run: 2 }])
  })
})

describe('a running session', () => {
  const running = session('RUNNING', { granted: IDENTITY })

  test('stays while its grant is the same', () => expect(at(0, [GRANT], running)).toEqual([]))

  test('ends only after two good lists in a row without its allocation', () => {
    expect(at(0, [], running)).toEqual([])
    expect(at(1, [GRANT], running)).toEqual([])
    expect(at(2, [], running)).toEqual([])
    expect(at(3, [], running)).toEqual([{ act: 'lost', id: ID, name: NAME, user: null, identity: IDENTITY }])
  })

  test('ends if its number belongs to another job by now', () => {
    const other = { ...GRANT, name: nameOf(BERTH, newId(SessionId), 1) }
    at(0, [other], running)
    expect(at(1, [other], running)).toMatchObject([{ act: 'lost', name: NAME }])
    expect(actOnEnd(running, undefined)).toMatchObject({ act: 'end', reason: { cause: 'slurm_forgotten' } })
  })

  test.each([
    ['timeout', 'slurm_timeout'],
    ['preempted', 'slurm_preempted'],
    ['node_failed', 'slurm_node_failed'],
    ['cancelled', 'slurm_cancelled'],
    ['completed', 'slurm_failed'],
  ] as const)('ends with its job: %s', (end, cause) => {
    const ended: Allocation = { name: NAME, user: null, identity: IDENTITY, state: 'ended', end }
    expect(at(0, [ended], running)).toMatchObject([
      { act: 'end', isWaiting: false, reason: { code: 'allocation_ended', cause } },
    ])
  })

  test('ends when Slurm has taken a node away from its job, and not for an answer without nodes', () => {
    const apart = { ...running, nodes: 2 }
    const nodes = ['g1', 'g2'].map(name => ({ name, gpus: [0] }))
    expect(at(0, [{ ...GRANT, nodes }], apart)).toEqual([])
    expect(at(1, [{ ...GRANT, nodes: [] }], apart)).toEqual([])
    expect(at(2, [GRANT], apart)).toMatchObject([{ act: 'end', isWaiting: false, reason: { cause: 'slurm_shrunk' } }])
  })

  test('stops as soon as it is preempted, before its job has ended', () =>
    expect(at(0, [{ ...GRANT, isPreempted: true }], running)).toMatchObject([
      { act: 'end', reason: { cause: 'slurm_preempted' } },
    ]))

  test('has until its grace time is over when it is preempted: its programs are told, then it is stopped', () => {
    const preempted = { ...GRANT, isPreempted: true, endsAt: new Date(60_000) }
    const shown = { ...running, slurmEndsAt: preempted.endsAt }
    const warning = { act: 'warn', id: ID, name: NAME, endsAt: preempted.endsAt, continues: false }
    expect(at(0, [preempted], shown)).toEqual([warning])
    memory.warned.set(NAME, 60_000)
    expect(at(44_000, [preempted], shown)).toEqual([])
    expect(at(45_000, [preempted], shown)).toMatchObject([{ act: 'end', reason: { cause: 'slurm_preempted' } }])
  })

  test('is told before its time limit ends it, and told again if the limit is raised', () => {
    const limited = { ...GRANT, endsAt: new Date(3_600_000) }
    const shown = { ...running, slurmEndsAt: limited.endsAt }
    expect(at(3_400_000, [limited], shown)).toEqual([])
    expect(at(3_480_000, [limited], shown)).toMatchObject([{ act: 'warn', endsAt: limited.endsAt }])
    memory.warned.set(NAME, 3_600_000)
    const raised = { ...GRANT, endsAt: new Date(7_200_000) }
    expect(at(3_500_000, [raised], shown)).toMatchObject([
      { act: 'until', endsAt: raised.endsAt },
      { act: 'warn', endsAt: null },
    ])
  })

  test('is told of a raised limit again after a failure, and by a manager that did not tell it of the end before', () => {
    const raised = { ...GRANT, endsAt: new Date(7_200_000) }
    const calledOff = { act: 'warn', id: ID, name: NAME, endsAt: null, continues: false }
    const until = { act: 'until', id: ID, endsAt: raised.endsAt }
    expect(at(3_500_000, [raised], { ...running, slurmEndsAt: new Date(3_600_000) })).toEqual([until, calledOff])
    const shown = { ...running, slurmEndsAt: raised.endsAt }
    expect(at(3_505_000, [raised], shown)).toEqual([calledOff])
    memory.warned.delete(NAME)
    expect(at(3_510_000, [raised], shown)).toEqual([])
    memory.warned.set(NAME, NOT_KNOWN)
    expect(at(3_515_000, [raised], shown)).toEqual([calledOff])
  })

  test('is not told at once of the end of a short job', () => {
    const short = { ...GRANT, identity: { ...IDENTITY, startedAt: 110 }, endsAt: new Date(170_000) }
    const shown = { ...running, slurmEndsAt: short.endsAt }
    expect(at(120_000, [short], shown)).toEqual([])
    expect(at(140_000, [short], shown)).toMatchObject([{ act: 'warn' }])
  })

  test('ends when Slurm has queued its job again: the resources are not its own any more', () => {
    const again = { ...WAITS, identity: { ...IDENTITY, startedAt: null, restarts: 1 } }
    expect(at(0, [again], running)).toMatchObject([{ act: 'end', reason: { cause: 'slurm_requeued' } }])
    const granted = { ...GRANT, identity: { ...IDENTITY, startedAt: 200, restarts: 1 } }
    expect(at(0, [granted], running)).toMatchObject([{ act: 'end', reason: { cause: 'slurm_requeued' } }])
  })

  test('has its grant recorded if the manager that placed it ended before', () =>
    expect(at(0, [GRANT], session('SCHEDULED'))).toEqual([{ act: 'record', name: NAME, identity: IDENTITY }]))

  test('is left alone without a request, and while it is being ended', () => {
    expect(at(0, [], session('RUNNING', null))).toEqual([])
    expect(at(0, [], session('TERMINATING', { granted: IDENTITY }))).toEqual([])
  })
})

describe('a running session that may be interrupted', () => {
  const running = { ...session('RUNNING', { granted: IDENTITY }), isInterruptible: true }
  const preempted = { ...GRANT, isPreempted: true, endsAt: new Date(60_000) }
  const shown = { ...running, slurmEndsAt: preempted.endsAt }
  const interrupt = { act: 'interrupt', id: ID }

  test('is told of a preemption, is stopped before the grace time is over, and continues', () => {
    const stopsAt = new Date(45_000)
    expect(at(0, [preempted], shown)).toEqual([
      { act: 'announce', id: ID, at: stopsAt },
      { act: 'warn', id: ID, name: NAME, endsAt: stopsAt, continues: true },
    ])
    memory.warned.set(NAME, 45_000)
    const announced = { ...shown, interruptAt: stopsAt }
    expect(at(44_000, [preempted], announced)).toEqual([])
    expect(at(45_000, [preempted], announced)).toEqual([interrupt])
  })

  test.each([
    ['without a grace time', { ...GRANT, isPreempted: true }],
    ['when its job is already gone', { name: NAME, user: null, identity: IDENTITY, state: 'ended', end: 'preempted' }],
    ['when its job was queued again', { ...GRANT, identity: { ...IDENTITY, startedAt: 200, restarts: 1 } }],
  ] as const)('is stopped at once %s', (_, found) => expect(at(0, [found], running)).toEqual([interrupt]))

  test('is told that the preemption is called off', () => {
    memory.warned.set(NAME, 45_000)
    const announced = { ...running, interruptAt: new Date(45_000) }
    expect(at(0, [GRANT], announced)).toEqual([
      { act: 'announce', id: ID, at: null },
      { act: 'warn', id: ID, name: NAME, endsAt: null, continues: true },
    ])
  })

  test('ends like any other one with another end of its job, and while it is only being started', () => {
    expect(actOnEnd(running, 'timeout')).toMatchObject({ act: 'end', reason: { cause: 'slurm_timeout' } })
    expect(actOnEnd(running, 'preempted')).toEqual(interrupt)
    expect(actOnEnd({ ...running, status: 'PREPARING' }, 'preempted')).toMatchObject({ act: 'end' })
  })
})

describe('allocations that no session needs', () => {
  const of = (allocations: readonly Allocation[], ...sessions: AllocatedSession[]) =>
    surplus({ allocations, sessions }, name => sessionOf(BERTH, name)).map(({ name }) => name)

  test('are those of ended sessions, of earlier requests and of failed starts', () => {
    const earlier = { ...GRANT, name: nameOf(BERTH, ID, 1) }
    const present = { ...GRANT, name: nameOf(BERTH, ID, 2) }
    expect(of([GRANT, WAITS])).toEqual([NAME, NAME])
    expect(of([earlier, present], session('RUNNING', { run: 2, name: present.name }))).toEqual([earlier.name])
    expect(of([GRANT], session('PENDING', { granted: IDENTITY }))).toEqual([NAME])
  })

  test('are not those of live sessions, also while they end, nor those that have ended', () => {
    for (const status of ['PENDING', 'SCHEDULED', 'RUNNING', 'TERMINATING'] as const)
      expect(of([GRANT], session(status))).toEqual([])
    expect(of([{ name: NAME, user: null, identity: IDENTITY, state: 'ended', end: 'timeout' }])).toEqual([])
    expect(of([{ name: NAME, user: null, identity: IDENTITY, state: 'changing' }])).toEqual([])
  })

  test('are never those with names that Berth does not make', () => {
    for (const name of [`${prefixOf(BERTH)}x`, `${NAME}-2`, `${prefixOf(BERTH)}${'x'.repeat(36)}-1`])
      expect(of([{ ...GRANT, name }])).toEqual([])
  })
})
