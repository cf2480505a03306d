import { expect, test } from 'vitest'
import { type ReasonCode, type SessionStatus } from '#manager/contract'
import { type Dependency } from '../store/sessions/dependencies.ts'
import { judgeDependencies } from './dependencies.ts'
import { sessionId } from './plan/plan-fixtures.ts'

const on = (
  name: string,
  status: SessionStatus,
  exitCode: number | null = null,
  code: ReasonCode = 'exited',
): Dependency => ({ sessionId: sessionId(1), name, status, reason: { code, message: '' }, exitCode })

test('a session waits for all live dependencies, and not for those that ended by themselves with exit code 0', () => {
  const { waitsFor, failed } = judgeDependencies([
    on('prepare', 'TERMINATED', 0),
    on('train-a', 'RUNNING'),
    on('train-b', 'PENDING'),
  ])
  expect(waitsFor.get(sessionId(1))).toEqual(['train-a', 'train-b'])
  expect(failed.size).toBe(0)
})

test.each([
  ['ended with exit code 3', on('train', 'TERMINATED', 3)],
  ['ended with exit code unknown', on('train', 'TERMINATED')],
  ['ended as user_terminated', on('train', 'TERMINATED', 0, 'user_terminated')],
  ['ended as kernel_failed', on('train', 'TERMINATED', 0, 'kernel_failed')],
  ['is CANCELLED', on('train', 'CANCELLED')],
  ['is ERROR', on('train', 'ERROR')],
])('a dependency that %s makes its session fail, whatever the others do', (how, dependency) => {
  const { failed } = judgeDependencies([on('other', 'RUNNING'), dependency])
  expect(failed.get(sessionId(1))).toMatchObject({
    code: 'dependency_failed',
    message: `Will not start: depends on session "train", which ${how}.`,
  })
})
