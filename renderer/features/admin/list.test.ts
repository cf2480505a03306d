// @vitest-environment happy-dom
import { effectScope, reactive } from 'vue'
import { expect, onTestFinished, test } from 'vitest'
import { withServices } from '../../testing/services.ts'
import { usePagedList, type PageQuery } from './admin-list.ts'
import { type ListColumn, searchRows, sortRows } from './list-column.ts'
import { readListState, writeListState, type ListState, type ListView } from './list-view.ts'

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

/** A list on a page; the test answers its requests. */
function aPagedList() {
  const state = reactive({ search: '', sort: { key: 'name', descending: false }, filters: {} })
  const view = { state: state as ListState } as ListView
  const asked: { query: PageQuery; answer(names: string[], nextCursor?: string): void; fail(error: unknown): void }[] =
    []
  const fetch = (query: PageQuery) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ items: string[]; nextCursor: string | null }>()
    asked.push({
      query,
      answer: (items, nextCursor = '') => resolve({ items, nextCursor: nextCursor || null }),
      fail: reject,
    })
    return promise
  }
  const scope = effectScope()
  onTestFinished(() => scope.stop())
  const list = withServices({}).app.runWithContext(() => scope.run(() => usePagedList<string>({ view, fetch })))
  if (!list) throw new Error('the scope has ended')
  return { state, asked, list }
}

test('the first page is asked for at once, the next one at the end, and another order begins anew', async () => {
  const { state, asked, list } = aPagedList()
  asked[0]?.answer(['a', 'b'], 'next')
  await expect.poll(() => list.rows).toBeTruthy()
  expect([list.rows, list.total, list.error]).toEqual([['a', 'b'], null, null])
  list.more()
  list.more()
  expect(asked.map(({ query: { cursor } }) => cursor)).toEqual([undefined, 'next'])
  asked[1]?.answer(['c'])
  await expect.poll(() => list.rows?.length).toBe(3)
  list.more()
  expect(asked).toHaveLength(2)
  state.sort = { key: 'name', descending: true }
  await expect.poll(() => asked[2]).toBeTruthy()
  expect(asked[2]?.query).toMatchObject({ order: '-name', cursor: undefined })
})

test('the rest of a list that has changed meanwhile is not added', async () => {
  const { asked, list } = aPagedList()
  asked[0]?.answer(['a'], 'next')
  await expect.poll(() => list.rows).toBeTruthy()
  list.more()
  const again = list.load()
  asked[2]?.answer(['b'], 'other')
  await again
  asked[1]?.answer(['old'])
  await expect.poll(() => list.rows).toBeTruthy()
  await Promise.resolve()
  expect(list.rows).toEqual(['b'])
  list.more()
  await expect.poll(() => asked[3]).toBeTruthy()
  asked[3]?.fail(new Error('away'))
  await expect.poll(() => list.error).toBeTruthy()
  expect(list.rows).toEqual(['b'])
})
