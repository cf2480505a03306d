import { expect, test } from 'vitest'
import { firstPages } from './first-pages.ts'

/** A list of so many numbers, whose cursor is the next one. */
function listOf(count: number) {
  const asked: (readonly [number, string | undefined])[] = []
  const ask = ({ limit, cursor }: { readonly limit: number; readonly cursor: string | undefined }) => {
    asked.push([limit, cursor])
    const from = Number(cursor ?? 0)
    const end = Math.min(count, from + limit)
    const items = Array.from({ length: end - from }, (_, index) => from + index)
    return Promise.resolve({ items, nextCursor: end < count ? String(end) : null, total: count })
  }
  return { asked, ask }
}

test.each([
  ['fewer than a page', 30, 5, [[5, undefined]], '5'],
  [
    'more than a page',
    1_200,
    700,
    [
      [500, undefined],
      [200, '500'],
    ],
    '700',
  ],
  ['more than there are', 3, 50, [[50, undefined]], null],
  [
    'all',
    1_200,
    Infinity,
    [
      [500, undefined],
      [500, '500'],
      [500, '1000'],
    ],
    null,
  ],
])('the first items, %s', async (_what, count, wanted, requests, nextCursor) => {
  const { asked, ask } = listOf(count)
  const found = await firstPages(wanted, ask)
  expect(found.items).toEqual(Array.from({ length: Math.min(count, wanted) }, (_, index) => index))
  expect([found.nextCursor, found.total]).toEqual([nextCursor, count])
  expect(asked).toEqual(requests)
})
