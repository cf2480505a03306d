import { expect, test } from 'vitest'
import { readSacct } from './read-sacct.ts'

const IDENTITY = { id: '7', submittedAt: 100, startedAt: 110, restarts: 0 }
const JOB = { name: 'berth-a-1', user: null, identity: IDENTITY }

test.each([
  ['TIMEOUT', 'timeout'],
  ['CANCELLED by 1000', 'cancelled'],
  ['PREEMPTED', 'preempted'],
  ['REQUEUED', 'requeued'],
  ['NODE_FAIL', 'node_failed'],
  ['OUT_OF_MEMORY', 'out_of_memory'],
  ['COMPLETED', 'completed'],
  ['RUNNING', undefined],
  ['PENDING', undefined],
])('%s', (state, end) => expect(readSacct(`7|1000|berth|${state}|berth-a-1\n`, JOB, 1000)).toBe(end))

test('only the row of this job counts: by number, name and user; and the last one of several', () => {
  const rows = [
    '7|1000|berth|TIMEOUT|berth-b-1',
    '8|1000|berth|TIMEOUT|berth-a-1',
    '7|1001|eve|TIMEOUT|berth-a-1',
    '7|1000|berth|TIMEOUT|berth-a-1|x',
    '',
  ]
  expect(readSacct(rows.join('\n'), JOB, 1000)).toBeUndefined()
  expect(readSacct(rows.join('\n'), { ...JOB, identity: null }, 1000)).toBe('timeout')
  expect(readSacct(rows.join('\n'), { ...JOB, user: 'eve' }, 1000)).toBe('timeout')
  const requeued = '7|1000|berth|REQUEUED|berth-a-1\n7|1000|berth|CANCELLED by 0|berth-a-1\n'
  expect(readSacct(requeued, JOB, 1000)).toBe('cancelled')
})
