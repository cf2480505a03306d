import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type RunningKernel } from '../running-kernel.ts'
import { startStats, type StatsDeps } from './stats.ts'

const kernel = { kernelId: 'kernel', containerId: 'container', pid: 0, devices: ['GPU-0'] } as unknown as RunningKernel

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('a slow sample makes the next ones wait, and does not delay the end', async () => {
  const measure = vi.fn<StatsDeps['devices']['measure']>(
    signal => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  )
  const slow = Promise.withResolvers<[]>()
  measure.mockReturnValueOnce(slow.promise)
  const onSample = vi.fn()
  const stats = startStats({
    engine: {} as StatsDeps['engine'],
    kernels: { running: () => [kernel] },
    devices: { measure },
    scratchOf: () => '/nowhere',
    onSample,
  })
  await vi.advanceTimersByTimeAsync(10_000)
  slow.resolve([])
  await vi.advanceTimersByTimeAsync(0)
  expect(measure).toHaveBeenCalledOnce()
  onSample.mockClear()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(measure).toHaveBeenCalledTimes(2)
  await stats[Symbol.asyncDispose]()
  expect(onSample).not.toHaveBeenCalled()
})
