import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createJobLocks } from './job-locks.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const granted = () => Promise.resolve([{ taken: true }])

test('a lock is not believed while the server is not heard, and is again when it was heard after all', async () => {
  let isHeard = true
  const locks = createJobLocks(granted, () => isHeard)
  expect(await locks.take('job')).toBe(true)
  isHeard = false
  expect([locks.holds('job'), await locks.take('job')]).toEqual([false, false])
  isHeard = true
  expect([locks.holds('job'), await locks.take('job')]).toEqual([true, true])
})

test('no lock is taken at a promoted standby before the managers at the old primary have stopped believing theirs', async () => {
  const locks = createJobLocks(granted)
  locks.holdOff(3_000)
  expect(await locks.take('job')).toBe(false)
  vi.advanceTimersByTime(2_999)
  expect(await locks.take('job')).toBe(false)
  vi.advanceTimersByTime(1)
  expect(await locks.take('job')).toBe(true)
})

test('whoever was told no while the server was not heard is told when it is heard again, once', async () => {
  let isHeard = true
  const locks = createJobLocks(granted, () => isHeard)
  await locks.take('job')
  const told: string[] = []
  locks.onTaken(job => told.push(job))
  isHeard = false
  await locks.take('job')
  await locks.retry()
  expect(told).toEqual([])
  isHeard = true
  await locks.retry()
  await locks.retry()
  expect(told).toEqual(['job'])
})
