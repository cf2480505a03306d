import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { untilAborted, within } from './within.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const late = () => new Error('late')

it('passes on what comes in time, and leaves no timer', async () => {
  await expect(within(100, Promise.resolve('in time'), late)).resolves.toBe('in time')
  await expect(within(100, Promise.reject(new Error('failed')), late)).rejects.toThrow('failed')
  expect(vi.getTimerCount()).toBe(0)
})

it('gives up when the time is over, and drops a late failure', async () => {
  const work = Promise.withResolvers<string>()
  const waited = expect(within(100, work.promise, late)).rejects.toThrow('late')
  await vi.advanceTimersByTimeAsync(100)
  await waited
  work.reject(new Error('later still'))
  await vi.advanceTimersByTimeAsync(0)
})

it('waits until the signal aborts, and throws its reason', async () => {
  const end = new AbortController()
  const waited = untilAborted(new Promise(() => undefined), end.signal)
  end.abort(new Error('enough'))
  await expect(waited).rejects.toThrow('enough')
  await expect(untilAborted(Promise.resolve(1), end.signal)).rejects.toThrow('enough')
  await expect(untilAborted(Promise.resolve(1))).resolves.toBe(1)
})
