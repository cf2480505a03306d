import { expect, test } from 'vitest'
import { ownGpuUse } from './own-gpu-use.ts'

const MiB = 2 ** 20
const device = { utilization: 100, memBytes: 63_444 * MiB }
const process = (pid: number, utilization: number | null, mib: number | null = 31_722) => ({
  pid,
  utilization,
  memBytes: mib === null ? null : mib * MiB,
})
/** Process ids below 100 belong to one session, from 100 to the other. */
const first = (pid: number) => pid < 100
const second = (pid: number) => pid >= 100
const both = (processes: Parameters<typeof ownGpuUse>[1], use = device) => [
  ownGpuUse(use, processes, first),
  ownGpuUse(use, processes, second),
]

test('two sessions on one GPU have their own figures, and never the sum', () => {
  expect(both([process(1, 45, 20_000), process(2, 10, 1_000), process(100, 40, 31_722)])).toEqual([
    { utilization: 55, memBytes: 21_000 * MiB },
    { utilization: 40, memBytes: 31_722 * MiB },
  ])
})

test('a session without a process on the GPU uses nothing of it, whatever others do', () => {
  expect(both([process(100, 99)])[0]).toEqual({ utilization: 0, memBytes: 0 })
})

test('a process without a figure beside others is idle', () => {
  expect(both([process(1, null), process(100, 99)]).map(use => use.utilization)).toEqual([0, 99])
})

test('where no process has a figure, the use is that of the only session, or 0 like that of the GPU, or unknown', () => {
  expect(both([process(1, null)])[0]?.utilization).toBe(100)
  const two = [process(1, null), process(100, null)]
  expect(both(two).map(use => use.utilization)).toEqual([null, null])
  expect(both(two, { ...device, utilization: 0 }).map(use => use.utilization)).toEqual([0, 0])
})

test('memory of one process that is not known makes the sum unknown', () => {
  expect(both([process(1, 1, null), process(2, 1), process(100, 1)]).map(use => use.memBytes)).toEqual([
    null,
    31_722 * MiB,
  ])
})

test('rounded figures of several processes are not more than the GPU', () => {
  expect(both([process(1, 60), process(2, 60)])[0]?.utilization).toBe(100)
})
