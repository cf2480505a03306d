import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { every } from './every.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('repeats a work at its interval until it is disposed', async () => {
  const work = vi.fn(() => Promise.resolve())
  const repeated = every(100, work)
  await vi.advanceTimersByTimeAsync(350)
  expect(work).toHaveBeenCalledTimes(3)
  await repeated[Symbol.asyncDispose]()
  await vi.advanceTimersByTimeAsync(350)
  expect(work).toHaveBeenCalledTimes(3)
})

it('skips a repetition while the work still runs, and lets others join it', async () => {
  const held = Promise.withResolvers<undefined>()
  const work = vi.fn(() => held.promise)
  await using repeated = every(100, work)
  const first = repeated.now()
  await vi.advanceTimersByTimeAsync(350)
  expect(repeated.now()).toBe(first)
  expect(work).toHaveBeenCalledTimes(1)
  held.resolve(undefined)
  await first
  await vi.advanceTimersByTimeAsync(100)
  expect(work).toHaveBeenCalledTimes(2)
})

it('tells a failure and tries again', async () => {
  const failures: unknown[] = []
  const error = new Error('no')
  await using repeated = every(
    100,
    () => Promise.reject(error),
    failure => failures.push(failure),
  )
  await repeated.now()
  await vi.advanceTimersByTimeAsync(100)
  expect(failures).toEqual([error, error])
})

it('takes a work that throws at once for a failure, and goes on', async () => {
  const failures: unknown[] = []
  const error = new Error('at once')
  const work = vi.fn((): Promise<void> => {
    throw error
  })
  await using repeated = every(100, work, failure => failures.push(failure))
  await expect(repeated.now()).resolves.toBeUndefined()
  await vi.advanceTimersByTimeAsync(200)
  expect([work.mock.calls.length, failures]).toEqual([3, [error, error, error]])
})

it('waits for the work in progress when it is disposed', async () => {
  const held = Promise.withResolvers<undefined>()
  const repeated = every(100, () => held.promise)
  void repeated.now()
  let isDisposed = false
  const disposed = repeated[Symbol.asyncDispose]().then(() => (isDisposed = true))
  await vi.advanceTimersByTimeAsync(10)
  expect(isDisposed).toBe(false)
  held.resolve(undefined)
  await disposed
})
