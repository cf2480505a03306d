import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createPaced } from './paced.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function aTask(lastsMs = 0, succeeds: () => boolean = () => true) {
  const starts: number[] = []
  let running = 0
  let mostRunning = 0
  const origin = performance.now()
  const paced = createPaced({
    gatherMs: 50,
    busyMs: 1_000,
    async run() {
      starts.push(performance.now() - origin)
      mostRunning = Math.max(mostRunning, (running += 1))
      await new Promise(resolve => setTimeout(resolve, lastsMs))
      running -= 1
      return succeeds()
    },
  })
  return { paced, starts, mostRunning: () => mostRunning }
}

test('a request after a quiet time runs at once, and several requests share one run', async () => {
  const { paced, starts } = aTask()
  paced.ask()
  paced.ask()
  await vi.advanceTimersByTimeAsync(5_000)
  paced.ask()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(starts).toEqual([50, 5_050])
})

test('under load it runs at most once a second, one at a time, and once more after the last request', async () => {
  const { paced, starts, mostRunning } = aTask(700)
  for (let time = 0; time < 10_000; time += 10) {
    paced.ask()
    await vi.advanceTimersByTimeAsync(10)
  }
  await vi.advanceTimersByTimeAsync(5_000)
  const gaps = starts.slice(1).map((start, index) => start - starts[index]!)
  expect(mostRunning()).toBe(1)
  expect(starts.length).toBeLessThanOrEqual(13)
  expect(Math.min(...gaps.slice(5))).toBeGreaterThanOrEqual(1_000)
  expect(starts.at(-1)).toBeGreaterThanOrEqual(10_000 - 50)
})

test('a failed run is repeated with back-off, and at once on request', async () => {
  let isThere = false
  const { paced, starts } = aTask(0, () => isThere)
  paced.ask()
  await vi.advanceTimersByTimeAsync(7_500)
  expect(starts).toEqual([50, 1_050, 3_050, 7_050])
  isThere = true
  paced.ask()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(starts).toHaveLength(5)
  expect(starts[4]).toBeLessThan(9_000)
})

test('a request of the user does not wait, and a cancelled run does not happen', async () => {
  const { paced, starts } = aTask()
  paced.ask()
  paced.ask({ promptly: true })
  await vi.advanceTimersByTimeAsync(1)
  expect(starts).toHaveLength(1)
  paced.ask()
  paced.cancel()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(starts).toHaveLength(1)
})
