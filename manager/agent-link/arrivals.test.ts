import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { watchArrivals } from './arrivals.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setInterval', 'clearInterval'] }))
afterEach(() => void vi.useRealTimers())

/** Simulates a standstill of the process: the clock continues, timers do not. */
const standStill = (ms: number) => {
  const until = performance.now() + ms
  vi.setSystemTime(until)
  vi.spyOn(performance, 'now').mockReturnValue(until)
}

test('while the process runs, a message arrives when it is read', () => {
  using arrivals = watchArrivals()
  vi.advanceTimersByTime(5_000)
  expect(arrivals.time()).toBe(performance.now())
})

test('messages that are read after a standstill count as sent before it, until the backlog is read', () => {
  using arrivals = watchArrivals()
  vi.advanceTimersByTime(1_000)
  const before = performance.now()
  standStill(4_000)
  expect(arrivals.time()).toBe(before)
  vi.restoreAllMocks()
})
