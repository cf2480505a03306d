import { expect, test } from 'vitest'
import { idOf } from '../../testing/a-session.ts'
import { MOST_LOGS, readLogIds } from '../../data/logs/log-query.ts'
import { mergeLines, stampedLines } from './stamped-lines.ts'

const at = (seconds: number) => Date.UTC(2026, 10, 22, 21, 0, seconds)
const stamp = (seconds: number) => `2026-11-22T21:00:0${seconds}.000000001Z`

test('lines get their times, and progress bars show their last state', () => {
  const text = `${stamp(1)} 10 %\r20 %\r30 %\n${stamp(2)} \u001b[32mgreen\u001b[0m\ncontinued\n${stamp(3)} \n`
  expect(stampedLines(text)).toEqual([
    { at: at(1), text: '30 %' },
    { at: at(2), text: 'green' },
    { at: at(2), text: 'continued' },
    { at: at(3), text: '' },
  ])
  expect(stampedLines('')).toEqual([])
  expect(stampedLines('kept\n')).toEqual([{ at: null, text: 'kept' }])
})

test('logs are merged by time, and keep their order within one time', () => {
  const first = stampedLines(`${stamp(1)} a1\n${stamp(3)} a2\n${stamp(3)} a3\n`)
  const second = stampedLines(`${stamp(2)} b1\n${stamp(3)} b2\n`)
  const kept = stampedLines('old 1\nold 2\n')
  expect(mergeLines([first, second, kept]).map(({ log, text }) => `${log} ${text}`)).toEqual([
    '2 old 1',
    '2 old 2',
    '0 a1',
    '1 b1',
    '0 a2',
    '0 a3',
    '1 b2',
  ])
})

test('the address names sessions, each once and not too many', () => {
  expect(readLogIds(`${idOf(1)},${idOf(2)},x,${idOf(1)}`)).toEqual([idOf(1), idOf(2)])
  expect(readLogIds(undefined)).toEqual([])
  expect(readLogIds(Array.from({ length: 20 }, (_, index) => idOf(index)).join())).toHaveLength(MOST_LOGS)
})

test('a line that a browser would need minutes for is cut', () => {
  const [first, cut] = stampedLines(`first\n${'a\u05d0'.repeat(300_000)}\n`)
  expect(first?.text).toBe('first')
  expect(cut?.text.length).toBeLessThan(40_000)
})
