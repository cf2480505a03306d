import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fetchWithClock, serverAheadMs, serverNow } from './server-clock.ts'

const HOUR_MS = 3_600_000
const HERE = Date.parse('2026-11-28T10:00:00.400Z')

beforeEach(() => {
  vi.useFakeTimers({ now: HERE })
  serverAheadMs.value = 0
})
afterEach(() => {
  vi.useRealTimers()
})

const MANAGER = { 'x-request-id': 'a' }

/** Returns an answer of a server whose clock is ahead, after a while. */
async function answerAt(aheadMs: number, tookMs = 20, by: Record<string, string> = MANAGER): Promise<void> {
  const get = fetchWithClock(() => {
    vi.setSystemTime(Date.now() + tookMs)
    return Promise.resolve(
      new Response(null, { headers: { ...by, date: new Date(Date.now() + aheadMs).toUTCString() } }),
    )
  })
  await get('/api/v1/me')
}

test.each([
  ['26 hours ahead', -26 * HOUR_MS],
  ['3 hours behind', 3 * HOUR_MS],
  ['5 seconds behind', 5_000],
])('a browser that is %s knows the time of the server to the second', async (_, aheadMs) => {
  await answerAt(aheadMs)
  expect(Math.abs(serverAheadMs.value - aheadMs)).toBeLessThan(1_100)
  expect(Math.abs(serverNow().getTime() - Date.now() - aheadMs)).toBeLessThan(1_100)
})

test('clocks that agree stay one, also where answers take long', async () => {
  for (const tookMs of [0, 300, 900, 7_000]) await answerAt(0, tookMs)
  expect(serverAheadMs.value).toBe(0)
})

test('the difference stays the same while answers agree with it, and goes with a clock that is set right', async () => {
  await answerAt(HOUR_MS)
  const known = serverAheadMs.value
  for (const tookMs of [10, 450, 3_000, 70]) await answerAt(HOUR_MS, tookMs)
  expect(serverAheadMs.value).toBe(known)
  vi.setSystemTime(Date.now() + HOUR_MS)
  await answerAt(0)
  expect(serverAheadMs.value).toBe(0)
})

test('an answer without a date, or by a console with another clock, says nothing', async () => {
  await answerAt(HOUR_MS)
  const known = serverAheadMs.value
  await answerAt(0, 20, {})
  expect(serverAheadMs.value).toBe(known)
  serverAheadMs.value = 0
  await fetchWithClock(() => Promise.resolve(new Response()))('/')
  expect(serverAheadMs.value).toBe(0)
})
