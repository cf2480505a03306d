import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inTurn } from './in-turn.ts'

test('every step has its turn after the one before, and the first failure is passed on at the end', async () => {
  const taken: string[] = []
  const step = (name: string, afterMs: number, fails: boolean) => async () => {
    await delay(afterMs)
    taken.push(name)
    if (fails) throw new Error(name)
  }
  const throwing = () => {
    throw new Error('at once')
  }
  const steps = [step('slow', 10, false), throwing, step('broken', 0, true), step('last', 0, false)]
  await expect(inTurn(steps)).rejects.toThrow('at once')
  expect(taken).toEqual(['slow', 'broken', 'last'])
})

test('steps that succeed throw nothing', async () => {
  await expect(inTurn([() => 1, () => Promise.resolve(2)])).resolves.toBeUndefined()
})
