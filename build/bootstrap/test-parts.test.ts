import { expect, test } from 'vitest'
import { addCounts, countTests, describeCounts, PARTS, parseTestFlags } from './test-parts.ts'

test('without flags all parts run, and the first failure ends them', () => {
  expect(parseTestFlags([])).toEqual({ parts: PARTS, keepGoing: false })
})

test('--only picks parts, in the usual order, and an unknown one is refused', () => {
  expect(parseTestFlags(['--only', 'e2e', '--only=unit', '--keep-going'])).toEqual({
    parts: ['unit', 'e2e'],
    keepGoing: true,
  })
  expect(() => parseTestFlags(['--only', 'units'])).toThrow('--only takes one of typecheck, lint')
  expect(() => parseTestFlags(['--fast'])).toThrow('--fast is no flag')
})

test('tests are counted over all files, and a file that does not load is one failure', () => {
  const tests = (...statuses: string[]) => statuses.map(status => ({ status, fullName: 'a test' }))
  const report = {
    testResults: [
      { status: 'failed', assertionResults: tests('passed', 'failed', 'pending') },
      { status: 'failed', assertionResults: [] },
      { status: 'passed', assertionResults: tests('passed', 'todo') },
    ],
  }
  expect(countTests(report)).toEqual({ passed: 2, failed: 2, skipped: 2, unsteady: [] })
})

test('the last line names skipped tests only where there are some', () => {
  const some = { passed: 3, failed: 1, skipped: 0, unsteady: [] }
  expect(describeCounts(some)).toBe('3 passed, 1 failed')
  expect(describeCounts(addCounts(some, { ...some, passed: 1, failed: 0, skipped: 2 }))).toBe(
    '4 passed, 1 failed, 2 skipped',
  )
})

test('who passed only at the second try is named', () => {
  const once = { status: 'passed', fullName: 'steady', failureMessages: [] }
  const twice = { status: 'passed', fullName: 'a page opens', failureMessages: ['Error: it did not\n    at line 1'] }
  const counts = countTests({ testResults: [{ status: 'passed', assertionResults: [once, twice] }] })
  expect(describeCounts(counts)).toBe(
    'passed at the second try only: a page opens (Error: it did not)\n2 passed, 0 failed',
  )
})
