import { describe, expect, test } from 'vitest'
import { AgentId, KernelId, ManagerId, SessionId, type SessionStatus, UserId } from '#manager/contract'
import { type KernelLabel, type KernelReport, type KernelState } from '#agent/contract'
import { type KnownKernel } from '../store/sessions/kernels.ts'
import { reconcile, type ReconcileInput } from './reconcile.ts'

const uuid = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`
const agentId = AgentId.parse(uuid(1))
const otherAgent = AgentId.parse(uuid(2))
const managerId = ManagerId.parse(uuid(3))
const kernelId = KernelId.parse(uuid(4))
const sessionId = SessionId.parse(uuid(5))
const startedAt = '2026-01-01T00:00:00Z'

const label: KernelLabel = {
  v: 1,
  managerId,
  agentId,
  sessionId,
  sessionName: 'work',
  kernelId,
  role: 'main1',
  attempt: 1,
  owner: { id: UserId.parse(uuid(6)), email: 'ada@example.org' },
  resourceGroup: 'default',
  image: { reference: 'python', digest: 'sha256:1' },
  slots: { cpu: 1000 },
  shmemBytes: 0,
  devices: [],
  environ: {},
  startupCommand: null,
  apps: [],
  createdAt: startedAt,
}
const STATES = {
  starting: { state: 'starting', phase: 'pulling' },
  running: { state: 'running', containerId: 'c', startedAt },
  exited: { state: 'exited', containerId: 'c', exitCode: 1, oomKilled: false, engineRestarted: false },
  gone: { state: 'gone' },
} as const satisfies Record<string, KernelState>

const report = (state: keyof typeof STATES, more: Partial<KernelReport> = {}): KernelReport => ({
  kernelId,
  sessionId,
  attempt: 1,
  state: STATES[state],
  label,
  ...more,
})
const known = (status: SessionStatus, more: Partial<KnownKernel> = {}): KnownKernel => ({
  kernelId,
  sessionId,
  status,
  agentId,
  attempt: 1,
  forMs: 10_000,
  ...more,
})
const run = (kernels: KnownKernel[], reported: KernelReport[], more: Partial<ReconcileInput> = {}) =>
  reconcile({
    agentId,
    managerId,
    isOurs: () => true,
    known: kernels,
    reported,
    complete: true,
    ageMs: 0,
    missingBefore: new Set(),
    ...more,
  })
const acts = (...args: Parameters<typeof run>) => run(...args).actions.map(action => action.do)

describe('known and reported kernels', () => {
  test.each<[SessionStatus, keyof typeof STATES, string[]]>([
    ['PREPARING', 'starting', ['phase']],
    ['PREPARING', 'running', ['running']],
    ['PREPARING', 'exited', ['ended']],
    ['PREPARING', 'gone', []],
    ['PULLING', 'running', ['running']],
    ['RUNNING', 'running', []],
    ['RUNNING', 'starting', []],
    ['RUNNING', 'exited', ['ended']],
    ['RUNNING', 'gone', ['gone']],
    ['TERMINATING', 'running', []],
    ['TERMINATING', 'exited', []],
    ['TERMINATED', 'running', ['destroy']],
    ['TERMINATED', 'exited', ['destroy']],
    ['TERMINATED', 'gone', ['destroy']],
    ['ERROR', 'running', ['destroy']],
    ['CANCELLED', 'running', ['destroy']],
  ])('a %s session with a reported kernel that is %s: %j', (status, state, actions) => {
    expect(acts([known(status)], [report(state)])).toEqual(actions)
  })

  test('a container is destroyed if its kernel now belongs to another agent', () => {
    expect(acts([known('RUNNING', { agentId: otherAgent, attempt: 2 })], [report('running')])).toEqual(['destroy'])
    expect(acts([known('PENDING', { agentId: null })], [report('running')])).toEqual(['destroy'])
  })

  test('a container of an older attempt on the same agent is left to create_kernel of the newer one', () => {
    expect(acts([known('PREPARING', { attempt: 2 })], [report('running')])).toEqual([])
  })
})

describe('reported but unknown containers', () => {
  test('a running container is imported, an ended one removed', () => {
    expect(acts([], [report('running')])).toEqual(['import'])
    expect(acts([], [report('exited')])).toEqual(['destroy'])
    expect(acts([], [report('starting')])).toEqual([])
  })

  test('a container of another manager, or with an invalid label, is ignored', () => {
    expect(acts([], [report('running', { label: { ...label, managerId: uuid(9) } })])).toEqual([])
    expect(acts([], [report('running', { label: { ...label, kernelId: uuid(9) } })])).toEqual([])
    expect(acts([], [report('running', { label: 'nonsense' })])).toEqual([])
  })
})

describe('known kernels that are not reported', () => {
  test('a kernel is gone after two complete reports without it', () => {
    const first = run([known('RUNNING')], [])
    expect(first.actions).toEqual([])
    const second = run([known('RUNNING')], [], { missingBefore: first.missing })
    expect(second.actions.map(action => action.do)).toEqual(['gone'])
  })

  test('a kernel is not gone if it was reported in between, or started after the report arrived', () => {
    const first = run([known('RUNNING')], [])
    const seen = run([known('RUNNING')], [report('running')], { missingBefore: first.missing })
    expect(seen.missing.size).toBe(0)
    const stale = run([known('RUNNING')], [], { ageMs: 60_000, missingBefore: first.missing })
    expect(stale).toMatchObject({ actions: [], missing: new Set() })
  })

  test('a notice about one kernel says nothing about others', () => {
    const missingBefore = new Set([kernelId])
    expect(run([known('RUNNING')], [], { complete: false, missingBefore })).toEqual({
      actions: [],
      missing: missingBefore,
    })
  })

  test('a kernel that starts or ends is not judged', () => {
    for (const status of ['SCHEDULED', 'PREPARING', 'PULLING', 'TERMINATING'] as const) {
      expect(acts([known(status)], [], { missingBefore: new Set([kernelId]) })).toEqual([])
    }
  })
})
