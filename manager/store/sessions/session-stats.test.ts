import { expect, test } from 'vitest'
import { SessionId } from '#manager/contract'
import { newId } from '../new-id.ts'
import { isGpuIdle, type SessionMinute, sumsOf } from './session-stats.ts'

/** A minute in which a session used its GPUs so much, in percent of each. */
const minute = (heldGpus: number | undefined, ...use: readonly (number | null)[]): SessionMinute => ({
  sessionId: newId(SessionId),
  heldGpus,
  stats: {
    ...{ samples: 60, cpuMilli: 0, cpuSeconds: 0, memBytes: 0, memPeakBytes: 0, netRxBytes: 0, netTxBytes: 0 },
    ...{ diskReadBytes: 0, diskWriteBytes: 0, scratchBytes: null },
    gpus: use.map((utilization, n) => ({ uuid: `GPU-${n}`, utilization, memBytes: 0 })),
  },
})
const used = (one: SessionMinute) => {
  const { gpuSeconds, gpuUsedSeconds } = sumsOf(one)
  return [gpuSeconds, Math.round(gpuUsedSeconds * 10) / 10]
}

test('the use of whole GPUs is their mean, and one of unknown use is not measured', () => {
  expect(used(minute(2, 50, 100))).toEqual([60, 45])
  expect(used(minute(undefined, 50, 100))).toEqual([60, 45])
  expect(used(minute(2, 50, null))).toEqual([30, 15])
})

test('a session with a share wastes what it leaves of the share, and cannot use more than all of it', () => {
  expect(used(minute(0.25, 25))).toEqual([60, 60])
  expect(used(minute(0.25, 5))).toEqual([60, 12])
  expect(used(minute(0.25, 80))).toEqual([60, 60])
  expect(used(minute(0.25, null))).toEqual([0, 0])
})

test('a session with a share is idle if it hardly uses the share, and unknown use is no idleness', () => {
  expect(isGpuIdle(minute(1, 4))).toBe(true)
  expect(isGpuIdle(minute(0.25, 4))).toBe(false)
  expect(isGpuIdle(minute(0.25, 1))).toBe(true)
  expect(isGpuIdle(minute(0.25, null))).toBe(false)
  expect(isGpuIdle(minute(0))).toBe(false)
})
