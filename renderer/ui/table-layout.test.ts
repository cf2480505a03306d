import { expect, test } from 'vitest'
import { pressed, withPicked, type TableHead } from './table-layout.ts'

test('a press of a head sorts by it, and once more the other way round', () => {
  const name: TableHead<'name' | 'at'> = { key: 'name', label: 'Name', sort: 'name' }
  const at: TableHead<'name' | 'at'> = { key: 'time', label: 'Age', sort: 'at', fallsFirst: true }
  const first = pressed({ key: 'at', descending: false }, name)
  expect(first).toEqual({ key: 'name', descending: false })
  expect(pressed(first, name)).toEqual({ key: 'name', descending: true })
  expect(pressed(first, at)).toEqual({ key: 'at', descending: true })
  expect(pressed(first, { key: 'note', label: 'Note' })).toBe(first)
})

test('a checkbox selects its row, or all rows from the one before, in either direction', () => {
  const keys = ['a', 'b', 'c', 'd']
  const one = withPicked(new Set<string>(), keys, { key: 'd', anchor: null })
  expect([...one]).toEqual(['d'])
  expect([...withPicked(one, keys, { key: 'b', anchor: 'd' })].toSorted()).toEqual(['b', 'c', 'd'])
  expect([...withPicked(new Set(keys), keys, { key: 'c', anchor: 'a' })]).toEqual(['d'])
  expect([...withPicked(one, keys, { key: 'a', anchor: 'gone' })].toSorted()).toEqual(['a', 'd'])
})
