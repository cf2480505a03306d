import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

test('users with work waiting come one after another, one piece at a time', async () => {
  const turns = createTurns()
  const order: string[] = []
  let atOnce = 0
  const piece = (user: string, name: string) =>
    turns.run(user, async () => {
      expect(++atOnce).toBe(1)
      order.push(name)
      await Promise.resolve()
      atOnce--
    })
  await Promise.all([
    ...['a1', 'a2', 'a3', 'a4'].map(name => piece('ada', name)),
    piece('bob', 'b1'),
    piece('bob', 'b2'),
    piece('cleo', 'c1'),
  ])
  expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
})

test('work that fails gives its turn on, and the error to its caller', async () => {
  const turns = createTurns()
  const failed = turns.run('ada', () => {
    throw new Error('gone')
  })
  const other = turns.run('ada', () => 'done')
  await expect(failed).rejects.toThrow('gone')
  expect(await other).toBe('done')
})

test('with a pause, events come between two pieces', async () => {
  const turns = createTurns(setImmediate)
  const order: string[] = []
  const pieces = ['1', '2'].map(name => turns.run('ada', () => order.push(name)))
  setImmediate(() => order.push('event'))
  await Promise.all(pieces)
  expect(order).toEqual(['1', 'event', '2'])
})
