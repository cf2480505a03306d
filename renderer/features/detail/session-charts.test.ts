import { expect, test } from 'vitest'
import { type Session, type SessionStats } from '#manager/contract'
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
const session = { requested: { cpu: '2', mem: '4g' }, clusterSize: 2, kernels: [] }
const chartsOf = (...figures: SessionStats[]) => new Map(sessionCharts(session, figures, 60).map(one => [one.key, one]))
const gpu = (utilization: number | null, memBytes: number | null = 0, uuid = 'a') => ({ uuid, utilization, memBytes })

test('charts show the requests of all containers, and rates of the counters', () => {
  const charts = chartsOf(stats(0), stats(1))
  expect([...charts.keys()]).toEqual(['cpu', 'memory', 'disk', 'network'])
  expect(charts.get('cpu')?.limit?.value).toBe(4000)
  expect(charts.get('memory')?.limit?.value).toBe(2 ** 33)
  expect(charts.get('disk')?.points.lines[0]?.values).toEqual([null, 100])
  expect(charts.get('network')?.format(2048)).toBe('2 KiB/s')
})

test('the use of GPUs is their mean, and unknown if one of them is', () => {
  const charts = chartsOf(stats(0, { gpus: [gpu(40), gpu(80)] }), stats(1, { gpus: [gpu(40), gpu(null)] }))
  expect(charts.get('gpu')?.points.lines[0]?.values).toEqual([60, null])
})

test.each([
  ['two whole GPUs', { 'cuda.device': '2' }, 1, 100],
  ['a share of one GPU', { 'cuda.shares': '0.3' }, 1, 15],
  ['a share of a GPU in each of two containers', { 'cuda.shares': '0.3' }, 2, 30],
])('the line of what was requested is that of %s', (_name, requested, clusterSize, percent) => {
  const figures = [stats(0, { gpus: [gpu(40), gpu(80, 0, 'b')] })]
  const charts = sessionCharts({ requested, clusterSize, kernels: [] }, figures, 60)
  expect(charts.find(({ key }) => key === 'gpu')?.limit?.value).toBe(percent)
})

test('the memory of GPUs is their sum, and unknown if that of one is', () => {
  const charts = chartsOf(
    stats(0, { gpus: [gpu(40, 2 ** 30), gpu(80, 2 ** 31, 'b')] }),
    stats(1, { gpus: [gpu(40, 2 ** 30), gpu(80, null, 'b')] }),
  )
  expect(charts.get('gpu-memory')?.points.lines[0]?.values).toEqual([3 * 2 ** 30, null])
  expect(charts.get('gpu-memory')?.format(2 ** 31)).toBe('2 GiB')
})

test('beside the use by a session with a share stands that of the whole GPU, and its share of the memory as a line', () => {
  const device = { utilization: 90, memBytes: 62 * 2 ** 30, totalBytes: 80 * 2 ** 30 }
  const devices = [{ uuid: 'a', slot: 'cuda.shares', amount: '0.25' }]
  const kernels = [{ devices }] as unknown as Session['kernels']
  const shared = { requested: { 'cuda.shares': '0.25' }, clusterSize: 1, kernels }
  const figures = [
    stats(0, { gpus: [{ ...gpu(30, 20 * 2 ** 30), device }] }),
    stats(1, { gpus: [{ ...gpu(null, null), device }] }),
  ]
  const [use, memory] = ['gpu', 'gpu-memory'].map(key =>
    sessionCharts(shared, figures, 60).find(one => one.key === key),
  )
  expect(use?.points.lines.map(({ values }) => values)).toEqual([
    [30, null],
    [90, 90],
  ])
  expect(memory?.points.lines[0]?.values).toEqual([20 * 2 ** 30, null])
  expect(memory?.limit?.value).toBe(20 * 2 ** 30)
})

test('a whole GPU is one line', () => {
  const device = { utilization: 90, memBytes: 7, totalBytes: 80 }
  expect(chartsOf(stats(0, { gpus: [{ ...gpu(90, 7), device }] })).get('gpu')?.points.lines).toHaveLength(1)
})
