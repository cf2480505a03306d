import fc from 'fast-check'
import { expect, test } from 'vitest'
import { amountAt, positionOf, positions } from './slider-positions.ts'

test('a slider goes from the minimum over round amounts to the maximum', () => {
  const cpu = { min: 100, max: 2_200, step: 500 }
  const amounts = Array.from({ length: positions(cpu) + 1 }, (_, position) => amountAt(position, cpu))
  expect(amounts).toEqual([100, 500, 1_000, 1_500, 2_000, 2_200])
  expect(positionOf(1_300, cpu)).toBe(3)
})

test('both ends can be reached, amounts grow with the position, and positions and amounts convert back', () => {
  const ranges = fc
    .tuple(fc.nat(10_000), fc.nat(100_000), fc.integer({ min: 1, max: 5_000 }))
    .map(([min, more, step]) => ({ min, max: min + more, step }))
  fc.assert(
    fc.property(ranges, range => {
      const last = positions(range)
      const amounts = Array.from({ length: last + 1 }, (_, position) => amountAt(position, range))
      expect([amounts[0], amounts.at(-1)]).toEqual([last === 0 ? range.max : range.min, range.max])
      expect(amounts).toEqual([...new Set(amounts)].toSorted((a, b) => a - b))
      expect(amounts.map(amount => amountAt(positionOf(amount, range), range))).toEqual(amounts)
    }),
  )
})
