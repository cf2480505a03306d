import { expect, test } from 'vitest'
import { createSparing } from './log.ts'

test('messages that strangers cause are logged at intervals, with the number of those left out', () => {
  let now = 0
  const sparing = createSparing(1_000, () => now)
  const said: number[] = []
  for (const at of [0, 10, 20, 999, 1_000, 1_001, 5_000]) {
    now = at
    sparing(leftOut => said.push(leftOut))
  }
  expect(said).toEqual([0, 3, 1])
})
