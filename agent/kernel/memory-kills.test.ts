import { expect, test } from 'vitest'
import { createMemoryKills } from './memory-kills.ts'

test('kills of one kernel are told again after a while, those of others at once', () => {
  let nowMs = 0
  const isNews = createMemoryKills(() => nowMs)
  expect([isNews('a'), isNews('a'), isNews('b')]).toEqual([true, false, true])
  nowMs = 9_999
  expect(isNews('a')).toBe(false)
  nowMs = 10_000
  expect([isNews('a'), isNews('a')]).toEqual([true, false])
})
