import { expect, test } from 'vitest'
import { parsePriority, whatIfText } from './session-waiting.ts'

test('a dry run says whether the session would start, else the reason, the time if known, and a smaller request that would start', () => {
  expect(whatIfText({ startsNow: true, reason: null, smaller: [], notices: [] })).toBe('The session would start now.')
  const reason = { code: 'capacity' as const, message: 'It needs 4 CPU; at most 2 free now.' }
  const smaller = [{ slot: 'mem' as const, amount: String(2 ** 31) }]
  expect(whatIfText({ startsNow: false, reason, smaller, notices: [] }).split('\n')).toEqual([
    'The session would wait: It needs 4 CPU; at most 2 free now.',
    'The time of its start is unknown.',
    'With 2 GiB RAM the session would start now.',
  ])
  const known = { ...reason, expectedBy: '2026-11-20T12:00:00.000Z' }
  expect(whatIfText({ startsNow: false, reason: known, smaller: [], notices: [] })).toContain(
    'The session would start at 2026-11-20T12:00:00.000Z at the latest.',
  )
})

test('a priority is a whole number from -10 to 10', () => {
  expect(parsePriority('-3')).toBe(-3)
  for (const wrong of ['', '11', '1.5', 'high']) expect(() => parsePriority(wrong)).toThrow()
})
