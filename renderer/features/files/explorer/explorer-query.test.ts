import { expect, test } from 'vitest'
import { readView, writeView } from './explorer-query.ts'

test.each([
  { sort: { key: 'name', descending: false }, open: null, search: '' },
  { sort: { key: 'size', descending: true }, open: 'a b.txt', search: 'x' },
] as const)('the view is written to the URL and read back', view => {
  const query = Object.fromEntries(Object.entries(writeView(view)).map(([key, value]) => [key, String(value)]))
  expect(readView(query)).toEqual(view)
})

test('an unknown order falls back to the name', () => {
  expect(readView({ sort: '-colour' }).sort).toEqual({ key: 'name', descending: false })
})
