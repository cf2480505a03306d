import { expect, test } from 'vitest'
import { ratesOf, withGaps, stepsFrom } from './chart-points.ts'

test('a line has gaps where nothing was measured', () => {
  const points = { times: [0, 60, 240, 300], lines: [{ label: 'CPU', values: [1, 2, 3, 4] }] }
  expect(withGaps(points, 60)).toEqual({
    times: [0, 60, 120, 240, 300],
    lines: [{ label: 'CPU', values: [1, 2, null, 3, 4] }],
  })
  expect(withGaps({ times: [], lines: [{ label: 'CPU', values: [] }] }, 60).times).toEqual([])
})

test('rates are the growth of totals, and unknown after a restart of a container', () => {
  expect(ratesOf([100, 220, 20, 80], [0, 60, 120, 180])).toEqual([null, 2, null, 1])
  expect(ratesOf([1, 2], [5, 5])).toEqual([null, null])
})

test('the steps of an axis are no finer than its texts', () => {
  expect(stepsFrom(1).slice(0, 5)).toEqual([1, 2, 5, 10, 20])
  expect(stepsFrom(0.1)[0]).toBe(0.1)
})
