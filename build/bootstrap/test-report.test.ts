import { expect, test } from 'vitest'
import {
  addCounts,
  countTests,
  describeCounts,
  describeDurations,
  describeUnsteady,
  durationsOf,
  isTooUnsteady,
  NO_TESTS,
} from './test-report.ts'

const aFile = (status: string, statuses: readonly string[]) => ({
  name: '/clone/manager/a.test.ts',
  startTime: 1_000,
  endTime: 3_480,
  status,
  assertionResults: statuses.map(one => ({ status: one, fullName: 'a test' })),
})

test('tests are counted over all files, and a file that does not load is one failure', () => {
  const report = {
    testResults: [
      aFile('failed', ['passed', 'failed', 'pending']),
      aFile('failed', []),
      aFile('passed', ['passed', 'todo']),
    ],
  }
  expect(countTests(report)).toMatchObject({ passed: 2, failed: 2, skipped: 2, unsteady: [] })
})

test('the last line mentions skipped tests only if there are some', () => {
  const some = { passed: 3, failed: 1, skipped: 0, failures: [], unsteady: [] }
  expect(describeCounts(some)).toBe('3 passed, 1 failed')
  expect(describeCounts(addCounts(some, { ...some, passed: 1, failed: 0, skipped: 2 }))).toBe(
    '4 passed, 1 failed, 2 skipped',
  )
})

test('failed tests are named at the end, with what failed at each attempt', () => {
  const failed = {
    status: 'failed',
    fullName: 'a page opens',
    failureMessages: ['Error: once', 'Error: again\n    at 1'],
  }
  const report = {
    testResults: [
      { ...aFile('failed', []), assertionResults: [failed] },
      { ...aFile('failed', []), name: '/b.test.ts', message: 'SyntaxError: it' },
    ],
  }
  expect(describeCounts(countTests(report)).split('\n')).toEqual([
    '✗ /clone/manager/a.test.ts: a page opens',
    '    Error: once',
    '    Error: again',
    '        at 1',
    '✗ /b.test.ts',
    '    SyntaxError: it',
    '0 passed, 2 failed',
  ])
})

test('a test that passed only at the second attempt is named', () => {
  const once = { status: 'passed', fullName: 'steady', failureMessages: [] }
  const twice = { status: 'passed', fullName: 'a page opens', failureMessages: ['Error: it did not\n    at line 1'] }
  const counts = countTests({ testResults: [{ ...aFile('passed', []), assertionResults: [once, twice] }] })
  expect(describeCounts(counts)).toBe(
    'passed at the second try only: /clone/manager/a.test.ts: a page opens (Error: it did not)\n2 passed, 0 failed',
  )
})

test('three unsteady tests are accepted, a fourth fails the run', () => {
  const unsteady = (count: number) => ({ ...NO_TESTS, passed: 9, unsteady: Array.from({ length: count }, () => 'x') })
  expect(isTooUnsteady(unsteady(3))).toBe(false)
  expect(isTooUnsteady(unsteady(4))).toBe(true)
  expect(describeCounts(unsteady(4))).toContain('✗ 4 unsteady tests; at most 3 are accepted\n9 passed, 0 failed')
})

test('durations are seconds by the path from the root; the slowest files and those that became slower are named', () => {
  const durations = durationsOf({ testResults: [aFile('passed', ['passed'])] }, '/clone')
  expect(durations).toEqual({ 'manager/a.test.ts': 2.5 })
  expect(describeDurations({ 'a.test.ts': 31, 'b.test.ts': 4 }, { 'a.test.ts': 12, 'b.test.ts': 1 })).toEqual([
    'slowest test files:',
    '    31.0 s  a.test.ts',
    '     4.0 s  b.test.ts',
    'slower than stored: a.test.ts (12.0 s → 31.0 s)',
  ])
})

test('the list of unsteady tests names files from the root', () => {
  const text = describeUnsteady({ ...NO_TESTS, unsteady: ['/clone/test/a.test.ts: it opens (Error: late)'] }, '/clone')
  expect(text).toContain('\n- test/a.test.ts: it opens (Error: late)\n')
})
