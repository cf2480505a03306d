import { csvOf } from '#base/csv'
import { type UsageHistory } from '#manager/contract'
import { type ChartPoints } from '../../ui/chart-points.ts'
import { formatAmount, formatBytes, formatPercent } from '../../ui/format.ts'
import { t } from '../../words/en/statistics.ts'

export type Period = UsageHistory['items'][number]
export interface StatisticsChart {
  readonly key: 'gpu' | 'cpu' | 'memory' | 'sessions' | 'idle' | 'gpuIdle' | 'disks' | 'network'
  readonly title: string
  readonly points: ChartPoints
  readonly format: (value: number) => string
  /** Smallest step of the axis. */
  readonly finest: number
}

/** The sums of a history in one line. A sum that is small is not nothing. */
export function totalsText(items: readonly Period[]): string {
  const sum = (read: (period: Period) => number) =>
    formatAmount(items.reduce((before, period) => before + read(period), 0))
  return t('totals', {
    sessions: Math.max(0, ...items.map(({ sessions }) => sessions)),
    cpu: sum(({ cpuHours }) => cpuHours),
    gpu: sum(({ gpuHours }) => gpuHours),
  })
}

/** The charts of a history. GPUs are left out if nobody held one. */
export function statisticsCharts(items: readonly Period[]): StatisticsChart[] {
  const times = items.map(({ at }) => Date.parse(at) / 1000)
  const number = (value: number) => formatAmount(value)
  const line = (label: string, read: (period: Period) => number | null): ChartPoints => ({
    times,
    lines: [{ label, values: items.map(read) }],
  })
  const gpu: StatisticsChart = {
    key: 'gpu',
    title: t('gpuHours'),
    points: line(t('held'), ({ gpuHours }) => gpuHours),
    format: number,
    finest: 0.1,
  }
  const gpuIdle: StatisticsChart = {
    key: 'gpuIdle',
    title: t('idleGpu'),
    points: line(t('idleShare'), period => period.gpuIdle),
    format: formatPercent,
    finest: 0.01,
  }
  const bytes = (...of: readonly (readonly [label: string, read: (period: Period) => number])[]) => ({
    points: { times, lines: of.map(([label, read]) => ({ label, values: items.map(read) })) },
    format: (value: number) => formatBytes(value),
    finest: 1024,
  })
  const hasGpus = items.some(({ gpuHours }) => gpuHours > 0)
  return [
    ...(hasGpus ? [gpu] : []),
    ...(items.some(period => period.gpuIdle !== null) ? [gpuIdle] : []),
    {
      key: 'cpu',
      title: t('cpuHours'),
      points: line(t('held'), ({ cpuHours }) => cpuHours),
      format: number,
      finest: 0.1,
    },
    {
      key: 'memory',
      title: t('memHours'),
      points: line(t('held'), ({ memGibHours }) => memGibHours),
      format: number,
      finest: 0.1,
    },
    {
      key: 'sessions',
      title: t('sessions'),
      points: line(t('sessions'), ({ sessions }) => sessions),
      format: number,
      finest: 1,
    },
    {
      key: 'idle',
      title: t('idle'),
      points: line(t('idleShare'), ({ cpuIdle }) => cpuIdle),
      format: formatPercent,
      finest: 0.01,
    },
    {
      key: 'disks',
      title: t('disks'),
      ...bytes([t('read'), ({ readBytes }) => readBytes], [t('written'), ({ writtenBytes }) => writtenBytes]),
    },
    {
      key: 'network',
      title: t('network'),
      ...bytes([t('received'), ({ receivedBytes }) => receivedBytes], [t('sent'), ({ sentBytes }) => sentBytes]),
    },
  ]
}

/** The history as CSV: plain numbers, times in UTC, idle parts from 0 to 1, bytes. */
export function statisticsCsv(items: readonly Period[]): string {
  const head = [
    t('begin'),
    t('sessions'),
    t('cpuHours'),
    t('memHours'),
    t('gpuHours'),
    t('idle'),
    t('idleGpu'),
    t('idleMemory'),
  ]
  head.push(t('read'), t('written'), t('received'), t('sent'))
  return csvOf([
    head,
    ...items.map(one => [
      ...[one.at, one.sessions, one.cpuHours, one.memGibHours, one.gpuHours],
      ...[one.cpuIdle, one.gpuIdle, one.memIdle],
      ...[one.readBytes, one.writtenBytes, one.receivedBytes, one.sentBytes],
    ]),
  ])
}
