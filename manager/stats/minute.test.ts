import { expect, test } from 'vitest'
import { type StatsMinute } from '../store/tables/operation.ts'
import { addMinutes } from './minute.ts'

const minute = (n: number, change: Partial<StatsMinute> = {}): StatsMinute => ({
  samples: n,
  cpuMilli: n,
  cpuSeconds: n,
  memBytes: n,
  memPeakBytes: n,
  netRxBytes: n,
  netTxBytes: n,
  diskReadBytes: n,
  diskWriteBytes: n,
  scratchBytes: n,
  gpus: [],
  ...change,
})

test('the use of a GPU that two kernels share is the sum of both', () => {
  const shared = { uuid: 'GPU-a', utilization: 70, memBytes: 100 }
  const own = { uuid: 'GPU-b', utilization: 5, memBytes: 1 }
  expect(addMinutes(minute(1, { gpus: [shared] }), minute(2, { gpus: [shared, own] })).gpus).toEqual([
    { uuid: 'GPU-a', utilization: 100, memBytes: 200 },
    own,
  ])
})
