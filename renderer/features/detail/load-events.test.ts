import { expect, test } from 'vitest'
import { type ApiClient, type SessionEvent, type SessionId } from '#manager/contract'
import { loadEvents } from './load-events.ts'

const ID = '01990000-0000-7000-8000-000000000001' as SessionId
const { signal } = new AbortController()

/** A manager with so many events, which sends them newest first. */
function aManager(count: number) {
  const limits: number[] = []
  const listSessionEvents: ApiClient['listSessionEvents'] = ({ query }) => {
    const { limit = 100, cursor = count + 1 } = query ?? {}
    limits.push(Number(limit))
    const ids = Array.from(
      { length: Math.min(Number(limit), Number(cursor) - 1) },
      (_, index) => Number(cursor) - 1 - index,
    )
    const isMore = (ids.at(-1) ?? 1) > 1
    return Promise.resolve({
      items: ids.map(id => ({ id }) as SessionEvent),
      nextCursor: isMore ? String(ids.at(-1)) : null,
    })
  }
  return { api: { listSessionEvents }, limits }
}

test('a short timeline is whole', async () => {
  const { events, hasEarlier } = await loadEvents(aManager(3).api, { id: ID, wanted: 200, signal })
  expect([events.map(({ id }) => id), hasEarlier]).toEqual([[1, 2, 3], false])
})

test('of a long one the latest are fetched, in pages, and there are earlier ones', async () => {
  const { api, limits } = aManager(2_000)
  const { events, hasEarlier } = await loadEvents(api, { id: ID, wanted: 1_200, signal })
  expect([events.length, events[0]?.id, events.at(-1)?.id, hasEarlier]).toEqual([1_200, 801, 2_000, true])
  expect(limits).toEqual([500, 500, 200])
})
