import { expect, test } from 'vitest'
import { filesToRunAgain, withSecondRun } from './test-again.ts'
import { countTests, type VitestReport } from './test-report.ts'

const aFile = (name: string, failures: Readonly<Record<string, string | undefined>>) => ({
  name,
  startTime: 0,
  endTime: 1_000,
  status: Object.values(failures).some(message => message !== undefined) ? 'failed' : 'passed',
  assertionResults: Object.entries(failures).map(([fullName, message]) => ({
    status: message === undefined ? 'passed' : 'failed',
    fullName,
    failureMessages: message === undefined ? [] : [message],
  })),
})
const ended = (report: VitestReport | undefined, code = 1) => ({ code, report })

test('files that failed run again, at most three of them', () => {
  const broken = (...names: string[]) => ended({ testResults: names.map(name => aFile(name, { one: 'late' })) })
  const fine = ended({ testResults: [aFile('/fine.test.ts', { one: undefined })] }, 0)
  expect(filesToRunAgain(new Map([['unit', fine]]))).toEqual([])
  expect(
    filesToRunAgain(
      new Map([
        ['unit', fine],
        ['engine', broken('/a.test.ts')],
        ['console', broken('/b.test.ts', '/c.test.ts')],
      ]),
    ),
  ).toEqual([
    { part: 'engine', file: '/a.test.ts' },
    { part: 'console', file: '/b.test.ts' },
    { part: 'console', file: '/c.test.ts' },
  ])
  expect(filesToRunAgain(new Map([['unit', broken('/a', '/b', '/c', '/d')]]))).toBeUndefined()
})

test('a part that failed without a failed file is not mended by running files again', () => {
  expect(filesToRunAgain(new Map([['lint', ended(undefined)]]))).toBeUndefined()
  expect(filesToRunAgain(new Map([['unit', ended({ testResults: [] })]]))).toBeUndefined()
  const lost = { testResults: [], unhandled: [{ message: 'Error: nobody handled it' }] }
  expect(filesToRunAgain(new Map([['unit', ended(lost)]]))).toBeUndefined()
})

test('a file whose tests passed, but in which an error was not handled, runs again', () => {
  const report = {
    testResults: [aFile('/a.test.ts', { one: undefined })],
    unhandled: [{ file: '/a.test.ts', message: 'Error: late' }],
  }
  expect(filesToRunAgain(new Map([['unit', ended(report)]]))).toEqual([{ part: 'unit', file: '/a.test.ts' }])
  expect(countTests(report)).toMatchObject({ passed: 1, failed: 1, skipped: 0 })
})

test('what passes alone is unsteady, with the message of its failure; all other results stay', () => {
  const first = {
    testResults: [
      aFile('/a.test.ts', { one: 'Error: late\n at 1', two: undefined }),
      aFile('/b.test.ts', { three: undefined }),
    ],
    unhandled: [{ file: '/a.test.ts', message: 'Error: outside' }],
  }
  const alone = { testResults: [aFile('/a.test.ts', { one: undefined, two: undefined })] }
  expect(countTests(withSecondRun(first, alone, '/a.test.ts'))).toEqual({
    passed: 3,
    failed: 0,
    skipped: 0,
    failures: [],
    unsteady: ['/a.test.ts: one (Error: late)'],
  })
})
