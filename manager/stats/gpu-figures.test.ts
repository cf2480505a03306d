import { expect, test } from 'vitest'
import { type SessionGpu, type SessionStats } from '#manager/contract'
import { addGpus, GpuMeans, withOwnGpus } from './gpu-figures.ts'

const gpu = (utilization: number | null, memBytes: number | null, device?: SessionGpu['device']): SessionGpu => ({
  uuid: 'GPU-a',
  utilization,
  memBytes,
  ...(device && { device }),
})
const whole = (utilization: number | null, memBytes: number | null) => ({ utilization, memBytes, totalBytes: 80 })
const stats = (...gpus: SessionGpu[]) => ({ cpuMilli: 1, gpus }) as unknown as SessionStats

test('an agent of an older version tells the figures of the device, which are not those of a session with a share', () => {
  const old = stats(gpu(90, 62))
  const device = { utilization: 90, memBytes: 62, totalBytes: 0 }
  expect(withOwnGpus(old, { 'cuda.shares': 25 }).gpus).toEqual([gpu(null, null, device)])
  expect(withOwnGpus(old, { 'cuda.device': 1 }).gpus).toEqual([gpu(90, 62, device)])
})

test('figures of an agent that tells both stay as they are', () => {
  const both = stats(gpu(30, 20, whole(90, 62)))
  expect(withOwnGpus(both, { 'cuda.shares': 25 })).toEqual(both)
  expect(withOwnGpus(stats(), { 'cuda.shares': 25 })).toEqual(stats())
})

test('two kernels of a session on one GPU add up, and the device does not', () => {
  expect(addGpus([gpu(30, 20, whole(90, 62))], [gpu(40, 10, whole(91, 62))])).toEqual([gpu(70, 30, whole(91, 62))])
})

test('means are of the known figures, of the session and of the device', () => {
  const means = new GpuMeans()
  means.add([gpu(10, 10, whole(50, null))])
  means.add([gpu(null, 20, whole(100, 40))], 3)
  expect(means.rounded()).toEqual([gpu(10, 18, whole(87.5, 40))])
})
