import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NEWEST_FIRST, type SortKey } from './session-filter.ts'
import { LIST_TABS, readListView, statusesOf, writeListView, type ListView } from './list-query.ts'

const PLAIN: ListView = { tab: 'live', search: '', statuses: [], tag: '', sort: NEWEST_FIRST }

test('the default list has a plain address', () => {
  expect(writeListView(PLAIN)).toEqual({})
  expect(readListView({})).toEqual(PLAIN)
})

test('every view is written to the address and read back', () => {
  const views = fc.constantFrom(...LIST_TABS).chain(tab =>
    fc.record<ListView>({
      tab: fc.constant(tab),
      search: fc.string().filter(text => text === '' || text.trim() !== ''),
      statuses: fc.subarray([...statusesOf(tab)]),
      tag: fc.constantFrom('', 'thesis', '실험/3'),
      sort: fc.record({
        key: fc.constantFrom<SortKey[]>('name', 'status', 'created', 'owner'),
        descending: fc.boolean(),
      }),
    }),
  )
  fc.assert(
    fc.property(views, view => {
      expect(readListView(writeListView(view) as Record<string, string>)).toEqual(view)
    }),
  )
})

test('unknown values in the address are left out', () => {
  expect(
    readListView({ list: 'all', status: 'RUNNING,SLEEPING,TERMINATED', sort: '-colour', tag: 'no tag', q: ['a', 'b'] }),
  ).toEqual({
    ...PLAIN,
    statuses: ['RUNNING'],
  })
})
