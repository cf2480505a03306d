import { expect, test } from 'vitest'
import { axisSteps, lastKnown, ratesOf, textSpace, withGaps } from './chart-points.ts'

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

test('the steps of an axis reach the highest value, and are no finer than its texts', () => {
  expect(axisSteps(2000, {})).toEqual([0, 500, 1000, 1500, 2000])
  expect(axisSteps(0.35, { finest: 0.1 })).toEqual([0, 0.1, 0.2, 0.1 * 3, 0.4])
  expect(axisSteps(3, { finest: 1 })).toEqual([0, 1, 2, 3])
  expect(axisSteps(5 * 2 ** 30, { binary: true })).toEqual([0, 2, 4, 6].map(count => count * 2 ** 30))
  expect(axisSteps(0, { binary: true })).toEqual([0, 1])
  expect(axisSteps(0, { finest: 0.01 })).toEqual([0, 0.01])
})

test('the last value that was measured is known', () => {
  expect(lastKnown([1, 0, null, undefined])).toBe(0)
  expect(lastKnown([null])).toBeNull()
})

test('steps of an axis are as far apart as their texts need', () => {
  const widthOf = (text: string) => 10.4 * text.length
  expect(textSpace(['9:05', '9:10'], widthOf)).toBe(68)
  expect(textSpace(['Nov 2', '11월 27일 금'], widthOf)).toBe(112)
})
