import { describe, expect, test } from 'vitest'
import { AgentId, KernelId, SessionId, type SessionStatus } from '#manager/contract'
import { silentLog } from '../log.ts'
import { type LockedSession } from '../sessions/changes.ts'
import { type Change } from '../sessions/transition.ts'
import { newId } from '../store/new-id.ts'
import { type ActingDeps, type ActingMemory, createActing } from './act-on-report.ts'
import { type Action } from './reconcile.ts'

type Phase = 'preparing' | 'pulling'

describe('a session with two kernels that start', () => {
  const [agentId, sessionId] = [newId(AgentId), newId(SessionId)]
  const [one, other] = [newId(KernelId), newId(KernelId)]

  /** Records the states that the session passes through as its agent reports. */
  function starting(status: SessionStatus) {
    const kernels = [one, other].map(id => ({ id, status }))
    const state = { status, attempt: 1, kernels }
    const passed: SessionStatus[] = []
    const changes = {
      apply: (_id: SessionId, decide: (state: LockedSession) => Change | undefined) => {
        const change = decide(state as unknown as LockedSession)
        if (change) {
          passed.push(change.to)
          state.status = change.to
        }
        return Promise.resolve(undefined)
      },
    }
    const deps = { changes, log: silentLog, pulling: new Map<KernelId, number>() }
    const act = createActing(deps as unknown as ActingDeps & ActingMemory)
    const phase = (kernelId: KernelId, now: Phase): Action => ({
      do: 'phase',
      sessionId,
      kernelId,
      attempt: 1,
      phase: now,
      isWritten: false,
    })
    return {
      passed,
      kernels,
      report: (...told: [KernelId, Phase][]) =>
        act(
          agentId,
          told.map(([id, now]) => phase(id, now)),
          false,
        ),
    }
  }

  test('the session is PULLING as long as one kernel pulls, however often that is reported', async () => {
    const session = starting('PREPARING')
    for (let times = 0; times < 3; times += 1) await session.report([one, 'preparing'], [other, 'pulling'])
    await session.report([one, 'preparing'])
    expect(session.passed).toEqual(['PULLING'])
    await session.report([one, 'preparing'], [other, 'preparing'])
    expect(session.passed).toEqual(['PULLING', 'PREPARING'])
  })

  test('the session stays PULLING if a manager without its history first hears of the kernel that is prepared', async () => {
    const session = starting('PULLING')
    await session.report([one, 'preparing'], [other, 'pulling'])
    expect(session.passed).toEqual([])
  })

  test('the session becomes PREPARING with the remaining kernel once the kernel that pulled runs', async () => {
    const session = starting('PREPARING')
    await session.report([one, 'preparing'], [other, 'pulling'])
    session.kernels[1] = { id: other, status: 'RUNNING' }
    await session.report([one, 'preparing'])
    expect(session.passed).toEqual(['PULLING', 'PREPARING'])
  })
})
