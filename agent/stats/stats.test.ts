import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type RunningKernel } from '../running-kernel.ts'
import { type GpuSource } from './gpu-stats.ts'
import { startStats, type StatsDeps } from './stats.ts'

const kernel = { kernelId: 'kernel', containerId: 'container', pid: 0, devices: ['GPU-0'] } as unknown as RunningKernel

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

test('a driver that does not answer is asked once, holds up no other figures, and does not delay the end', async () => {
  const measure = vi.fn<GpuSource['measure']>(
    signal => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
  )
  const slow = Promise.withResolvers<[]>()
  measure.mockReturnValueOnce(slow.promise)
  const onSample = vi.fn<StatsDeps['onSample']>()
  const stats = startStats({
    engine: {} as StatsDeps['engine'],
    kernels: { running: () => [kernel] },
    devices: { list: () => [], measure, processes: () => Promise.resolve(new Map()) },
    scratchOf: () => '/nowhere',
    onSample,
  })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(measure).toHaveBeenCalledOnce()
  expect(onSample.mock.calls.length).toBeGreaterThan(1)
  slow.resolve([])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(measure).toHaveBeenCalledTimes(2)
  onSample.mockClear()
  await stats[Symbol.asyncDispose]()
  expect(onSample).not.toHaveBeenCalled()
})
