import { expect, test } from 'vitest'
import { partMeasured } from './part-measured.ts'

const said = (gpuMeasuredHours: number, gpuHours: number) => partMeasured({ gpuMeasuredHours, gpuHours })

test('a report says how many of the GPU-hours have figures, where a part is missing', () => {
  expect(said(3, 12.5)).toBe(
    'Only 3 of the 12.5 GPU-hours have figures of use. What was wasted of the others is not known.',
  )
  expect(said(0.02, 0.05)).toContain('Only 0.02 of the 0.05')
})

test.each([
  ['nothing was measured: the waste is a dash', 0, 12.5],
  ['only the first seconds are missing', 99.5, 100],
  ['there were no GPU-hours', 0, 0],
  ['both numbers would look the same', 2.96, 3],
  ['both are too small to show', 0.001, 0.004],
])('a report says nothing where %s', (_, measured, all) => {
  expect(said(measured, all)).toBe('')
})
