import { expect, test } from 'vitest'
import { pauseAfter } from './pauses.ts'

const FAILED = { status: 500, retryAfter: null }
const pauses = (random: number) =>
  Array.from({ length: 7 }, (_, index) => pauseAfter(index + 1, FAILED, random) ?? Number.NaN)

test('eight attempts take about a day, then the delivery is given up', () => {
  const hours = pauses(0.5).reduce((sum, pause) => sum + pause, 0) / 3600
  expect(hours).toBeGreaterThan(22)
  expect(hours).toBeLessThan(27)
  expect(pauseAfter(8, FAILED, 0)).toBeNull()
})

test('each pause is at least as long as the one before', () => {
  expect(pauses(0)).toEqual(pauses(0).toSorted((a, b) => a - b))
})

test.each([
  [429, '60', 60],
  [503, '60', 60],
  [503, '999999999', 86_400],
  [500, '60', 5],
  [429, 'Wed, 21 Oct 2026 07:28:00 GMT', 5],
  [429, '-1', 5],
])('HTTP %i with Retry-After %s: %i s', (status, retryAfter, seconds) =>
  expect(pauseAfter(1, { status, retryAfter }, 0)).toBe(seconds),
)
