import { expect, it } from 'vitest'
import { backoffMs, jitteredMs } from './backoff.ts'

const range = { firstMs: 200, longestMs: 10_000 }

it('doubles from the first pause to the longest, for ever', () => {
  expect([0, 1, 2, 5, 6, 7, 10_000].map(failures => backoffMs(failures, range))).toEqual([
    200, 400, 800, 6_400, 10_000, 10_000, 10_000,
  ])
})

it('takes any part of that pause', () => {
  expect([0, 0.5, 0.999].map(random => jitteredMs(1, range, random))).toEqual([0, 200, 399])
})
