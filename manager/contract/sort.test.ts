import { expect, test } from 'vitest'
import { readSort, sortBy } from './sort.ts'

test('a list is sorted by one of its orders, or by the reverse of one', () => {
  const schema = sortBy(['name', 'lastUsed'])
  expect(schema.options).toEqual(['name', '-name', 'lastUsed', '-lastUsed'])
  expect(schema.safeParse('size').success).toBe(false)
  expect(schema.options.map(readSort)).toEqual([
    { order: 'name', descending: false },
    { order: 'name', descending: true },
    { order: 'lastUsed', descending: false },
    { order: 'lastUsed', descending: true },
  ])
})
