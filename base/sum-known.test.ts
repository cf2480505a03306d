import { expect, test } from 'vitest'
import { sumKnown } from './sum-known.ts'

test.each([
  [[1, 2, 0], 3],
  [[0], 0],
  [[1, null, 2], null],
  [[null], null],
  [[], null],
])('the sum of %j is %j', (parts, sum) => {
  expect(sumKnown(parts)).toBe(sum)
})
