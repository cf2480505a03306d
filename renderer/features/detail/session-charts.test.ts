import { expect, test } from 'vitest'
import { type SessionStats } from '#manager/contract'
import { sessionCharts } from './session-charts.ts'

const stats = (minute: number, change: Partial<SessionStats> = {}): SessionStats => ({
  at: new Date(Date.UTC(2026, 10, 20, 12, minute)).toISOString(),
  cpuMilli: 500,
  memBytes: 2 ** 30,
  memPeakBytes: 2 ** 30,
  netRxBytes: minute * 600,
  netTxBytes: 0,
  diskReadBytes: minute * 6000,
  diskWriteBytes: 0,
  scratchBytes: null,
  gpus: [],
  ...change,
})
const session = { requested: { cpu: '2', mem: '4g' }, clusterSize: 2 }
const chartsOf = (...figures: SessionStats[]) => new Map(sessionCharts(session, figures, 60).map(one => [one.key, one]))

test('charts show the requests of all containers, and rates of the counters', () => {
  const charts = chartsOf(stats(0), stats(1))
  expect([...charts.keys()]).toEqual(['cpu', 'memory', 'disk', 'network'])
  expect(charts.get('cpu')?.limit?.value).toBe(4000)
  expect(charts.get('memory')?.limit?.value).toBe(2 ** 33)
  expect(charts.get('disk')?.points.lines[0]?.values).toEqual([null, 100])
  expect(charts.get('network')?.format(2048)).toBe('2 KiB/s')
})

test('the use of GPUs is their mean, and unknown if one of them is', () => {
  const gpu = (utilization: number | null) => ({ uuid: 'a', utilization, memBytes: 0 })
  const charts = chartsOf(stats(0, { gpus: [gpu(40), gpu(80)] }), stats(1, { gpus: [gpu(40), gpu(null)] }))
  expect(charts.get('gpu')?.points.lines[0]?.values).toEqual([60, null])
})
