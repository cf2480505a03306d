import { expect, test } from 'vitest'
import { type ListColumn, searchRows, sortRows } from './list-column.ts'
import { readListState, writeListState } from './list-view.ts'

interface Row {
  readonly name: string
  readonly size: number
}
const columns: ListColumn<Row>[] = [
  { key: 'name', label: 'Name', text: ({ name }) => name, sort: ({ name }) => name },
  { key: 'size', label: 'Size', text: ({ size }) => `${size} GiB`, sort: ({ size }) => size },
]
const rows: Row[] = [
  { name: 'host-10', size: 4 },
  { name: 'Host-2', size: 64 },
  { name: 'alpha', size: 4 },
]
const namesOf = (found: readonly Row[]) => found.map(({ name }) => name)

test('a search finds rows that have every word in some cell, in any letter case', () => {
  expect(namesOf(searchRows(rows, columns, ''))).toEqual(['host-10', 'Host-2', 'alpha'])
  expect(namesOf(searchRows(rows, columns, 'HOST'))).toEqual(['host-10', 'Host-2'])
  expect(namesOf(searchRows(rows, columns, 'host 64'))).toEqual(['Host-2'])
  expect(searchRows(rows, columns, 'host beta')).toEqual([])
})

test('numbers sort by value, texts by the numbers in them, and equal rows keep their order', () => {
  const by = (key: string, descending = false) => namesOf(sortRows(rows, columns, { key, descending }))
  expect(by('name')).toEqual(['alpha', 'Host-2', 'host-10'])
  expect(by('size')).toEqual(['host-10', 'alpha', 'Host-2'])
  expect(by('size', true)).toEqual(['Host-2', 'host-10', 'alpha'])
  expect(by('unknown')).toEqual(['host-10', 'Host-2', 'alpha'])
})

test('the address has what differs from the usual view, and reads back the same', () => {
  const state = readListState({ q: 'ada', sort: '-email', role: 'user', state: '', other: 'x' }, 'created', [
    'role',
    'state',
  ])
  expect(state).toEqual({ search: 'ada', sort: { key: 'email', descending: true }, filters: { role: 'user' } })
  expect(writeListState(state, 'created')).toEqual({ q: 'ada', sort: '-email', role: 'user' })
  expect(writeListState(readListState({}, '-created', []), '-created')).toEqual({})
})
