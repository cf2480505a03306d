import { expect, test } from 'vitest'
import { hasManyJsonParts } from './json-parts.ts'

test('members, objects and lists count, what is in texts and entries of lists do not', () => {
  const value = { text: 'a:[{"\\', 'key:{[': ['x', 'y', 1, 2, 3], more: [{ a: [] }] }
  const json = JSON.stringify(value)
  // 4 members, 2 objects and 3 lists.
  expect(hasManyJsonParts(json, 9)).toBe(false)
  expect(hasManyJsonParts(json, 8)).toBe(true)
  expect(hasManyJsonParts(JSON.stringify(value, null, 2), 9)).toBe(false)
})

test.each([
  ['members', JSON.stringify(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, 1]))), true],
  ['nested lists', '['.repeat(500_000), true],
  ['nested objects', '{"":'.repeat(100_000), true],
  ['a list of texts', JSON.stringify(Array.from({ length: 50_000 }, (_, at) => `a:${at}`)), false],
  ['a long text', JSON.stringify('\\":{['.repeat(100_000)), false],
  ['a text without an end', `"${':'.repeat(500_000)}`, false],
])('%s', (_name, json, many) => {
  expect(hasManyJsonParts(json, 20_000)).toBe(many)
})
