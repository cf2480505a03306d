import { expect, it } from 'vitest'
import { createOpenCounts } from './open-counts.ts'

it('gives so many places for each key, and a place that is given back counts once', () => {
  const counts = createOpenCounts()
  const first = counts.take('ada', 2)
  expect(counts.take('ada', 2)).toBeDefined()
  expect([counts.take('ada', 2), counts.take('bob', 2)]).toEqual([undefined, expect.any(Function)])
  expect(counts.size).toBe(3)
  first?.()
  first?.()
  expect(counts.size).toBe(2)
  expect([counts.take('ada', 2), counts.take('ada', 2)]).toEqual([expect.any(Function), undefined])
})
