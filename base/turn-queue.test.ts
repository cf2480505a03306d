import { expect, test } from 'vitest'
import { createTurnQueue } from './turn-queue.ts'

test('users come one after another, each with the items in their order', () => {
  const queue = createTurnQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item.slice(0, 1), item)
  expect(Array.from({ length: 7 }, () => queue.next())).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', undefined])
})

test('an item that is taken back leaves its turn to the next one', () => {
  const queue = createTurnQueue<string>()
  queue.add('ada', 'a1')
  queue.add('bob', 'b1')
  expect(queue.delete('ada', 'a1')).toBe(true)
  expect(queue.delete('ada', 'a1')).toBe(false)
  expect(queue.next()).toBe('b1')
})
