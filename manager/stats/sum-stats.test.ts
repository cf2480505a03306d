import { expect, test } from 'vitest'
import { type SessionStats } from '#manager/contract'
import { sumStats } from './sum-stats.ts'

const stats = (n: number, gpus: SessionStats['gpus'] = []): SessionStats => ({
  at: `2026-11-20T12:00:0${n}.000Z`,
  cpuMilli: n,
  memBytes: 10 * n,
  memPeakBytes: 20 * n,
  netRxBytes: n,
  netTxBytes: n,
  diskReadBytes: n,
  diskWriteBytes: n,
  scratchBytes: n,
  gpus,
})

test('figures of a session are the sums over its kernels; a GPU that they share is listed once', () => {
  const shared = { uuid: 'GPU-a', utilization: 40, memBytes: 100 }
  const sum = sumStats([stats(1, [shared]), stats(2, [shared, { uuid: 'GPU-b', utilization: 5, memBytes: 1 }])])
  expect(sum).toMatchObject({ at: '2026-11-20T12:00:02.000Z', cpuMilli: 3, memBytes: 30, scratchBytes: 3 })
  expect(sum?.gpus).toEqual([
    { uuid: 'GPU-a', utilization: 80, memBytes: 200 },
    { uuid: 'GPU-b', utilization: 5, memBytes: 1 },
  ])
})

test('unknown figures of a GPU are not 0', () => {
  const known = { uuid: 'GPU-a', utilization: 90, memBytes: 100 }
  const unknown = { uuid: 'MIG-a', utilization: null, memBytes: null }
  expect(sumStats([stats(1, [known, unknown]), stats(2, [known])])?.gpus).toEqual([
    { uuid: 'GPU-a', utilization: 100, memBytes: 200 },
    unknown,
  ])
  expect(sumStats([stats(1, [known]), stats(2, [{ ...known, utilization: null }])])?.gpus).toEqual([
    { uuid: 'GPU-a', utilization: null, memBytes: 200 },
  ])
})

test('the sum over one kernel is that kernel, and over no kernels there are no figures', () => {
  expect(sumStats([stats(1)])).toEqual(stats(1))
  expect(sumStats([])).toBeNull()
})
