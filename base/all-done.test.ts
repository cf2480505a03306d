import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { allDone } from './all-done.ts'

test('the values come in the order of the parts, whichever is done first', async () => {
  expect(await allDone([delay(10, 'slow'), Promise.resolve('quick')])).toEqual(['slow', 'quick'])
})

test('every part ends before a failure is passed on, and the first part in the list decides which failure', async () => {
  const ended: string[] = []
  const part = async (name: string, afterMs: number, fails: boolean) => {
    await delay(afterMs)
    ended.push(name)
    if (fails) throw new Error(name)
  }
  const parts = [part('first', 20, true), part('second', 0, true), part('third', 40, false)]
  await expect(allDone(parts)).rejects.toThrow('first')
  expect(ended).toEqual(['second', 'first', 'third'])
})
