import { expect, test } from 'vitest'
import { createTotals } from './totals.ts'

function counted(answers: number[]) {
  const time = { now: 0 }
  const asked: unknown[] = []
  const totals = createTotals(
    filter => {
      asked.push(filter)
      return Promise.resolve(answers.shift() ?? 0)
    },
    () => time.now,
  )
  return { totals, time, asked }
}

test('a small total is counted each time', async () => {
  const { totals } = counted([9_998, 9_999])
  expect(await totals({})).toBe(9_998)
  expect(await totals({})).toBe(9_999)
})

test('a large total is some seconds old at most, and belongs to the same filter', async () => {
  const { totals, time, asked } = counted([100_000, 20_000, 100_001])
  expect(await totals({})).toBe(100_000)
  expect(await totals({ domain: 'lab' })).toBe(20_000)
  time.now = 4_999
  expect(await totals({})).toBe(100_000)
  time.now = 5_001
  expect(await totals({})).toBe(100_001)
  expect(asked).toEqual([{}, { domain: 'lab' }, {}])
})
