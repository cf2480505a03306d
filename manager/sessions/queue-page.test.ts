import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { QUEUE_ORDERS, type SessionId } from '#manager/contract'
import { parseQueueCursor, queuePage, type Waiting } from './queue-page.ts'

const idOf = (index: number) => `01990000-0000-7000-8000-${index.toString(16).padStart(12, '0')}` as SessionId
const waiting = (index: number, row: Partial<Waiting> = {}): Waiting => ({
  id: idOf(index),
  name: `session-${index}`,
  owner: 'ada@example.org',
  priority: 0,
  resourceGroup: 'default',
  position: index,
  ...row,
})
const cursorOf = (text: string | null) => (text === null ? undefined : parseQueueCursor(text))

test('the queue is sorted by position, and sessions without one come last in both directions', () => {
  const rows = [waiting(1, { position: 3 }), waiting(2, { position: null }), waiting(3, { position: 1 })]
  const page = (descending: boolean) => queuePage(rows, { order: 'position', descending, limit: 10 })
  expect(page(false)).toEqual({ ids: [3, 1, 2].map(idOf), nextCursor: null })
  expect(page(true).ids).toEqual([1, 3, 2].map(idOf))
})

test('pages of any size and order have every session once', () => {
  const row = fc.record({
    position: fc.option(fc.nat(20), { nil: null }),
    priority: fc.integer({ min: -2, max: 2 }),
    owner: fc.constantFrom('Ada@example.org', 'bob@example.org'),
  })
  fc.assert(
    fc.property(
      fc.array(row, { maxLength: 40 }),
      fc.constantFrom(...QUEUE_ORDERS),
      fc.boolean(),
      fc.integer({ min: 1, max: 7 }),
      (found, order, descending, limit) => {
        const rows = found.map((one, index) => waiting(index + 1, one))
        const all = queuePage(rows, { order, descending, limit: 100 }).ids
        const paged: SessionId[] = []
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = queuePage(rows, { order, descending, limit, after: cursorOf(cursor ?? null) })
          paged.push(...page.ids)
          cursor = page.nextCursor
        }
        expect(paged).toEqual(all)
        expect(new Set(paged).size).toBe(rows.length)
      },
    ),
  )
})

describe('while the queue moves between two pages', () => {
  const rows = [1, 2, 3, 4, 5, 6].map(index => waiting(index))
  const first = queuePage(rows, { order: 'position', descending: false, limit: 3 })

  test('the next page continues behind the last session, wherever it is now', () => {
    const moved = rows.slice(2).map((row, index) => ({ ...row, position: index + 1 }))
    const next = queuePage(moved, {
      order: 'position',
      descending: false,
      limit: 3,
      after: cursorOf(first.nextCursor),
    })
    expect(next.ids).toEqual([4, 5, 6].map(idOf))
  })

  test('it leaves nobody out when the last session has started', () => {
    const moved = rows.filter(({ id }) => id !== idOf(3))
    const next = queuePage(moved, {
      order: 'position',
      descending: false,
      limit: 3,
      after: cursorOf(first.nextCursor),
    })
    expect(next.ids).toEqual([4, 5, 6].map(idOf))
  })
})

test.each(['', 'x', '3', '-1.01990000-0000-7000-8000-000000000001', '3.not-an-id'])('%j is no cursor', text => {
  expect(parseQueueCursor(text)).toBeUndefined()
})
