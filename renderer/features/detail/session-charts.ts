import { parseSlots, type Session, type SessionStats } from '#manager/contract'
import { formatBytes, formatCores, formatPercent } from '../../ui/format.ts'
import { ratesOf, withGaps, type ChartPoints } from '../../ui/chart-points.ts'
import { t } from '../../words/en/charts.ts'

/** A chart of a session. */
export interface SessionChart {
  readonly key: 'cpu' | 'memory' | 'gpu' | 'gpu-memory' | 'disk' | 'network'
  readonly title: string
  readonly points: ChartPoints
  readonly format: (value: number) => string
  /** The values are bytes. */
  readonly binary: boolean
  readonly limit: { readonly label: string; readonly value: number } | null
}

const perSecond = (value: number) => `${formatBytes(value)}/s`

/** GPU use in percent, the mean of all GPUs; null where the driver does not tell it. */
function gpuUse({ gpus }: SessionStats): number | null {
  const known = gpus.flatMap(({ utilization }) => (utilization === null ? [] : [utilization]))
  return gpus.length > 0 && known.length === gpus.length
    ? known.reduce((sum, one) => sum + one, 0) / known.length
    : null
}

/** Memory in use on all GPUs; null where the driver does not tell it. */
function gpuMemory({ gpus }: SessionStats): number | null {
  const known = gpus.flatMap(({ memBytes }) => (memBytes === null ? [] : [memBytes]))
  return gpus.length > 0 && known.length === gpus.length ? known.reduce((sum, one) => sum + one, 0) : null
}

/** Most of the mean use that the GPUs allow: 100 % for whole ones, 30 % for a share of 0.3. @param count GPUs that were measured */
function gpuShare({ requested, clusterSize }: Pick<Session, 'requested' | 'clusterSize'>, count: number): number {
  const { 'cuda.device': gpus = 0, 'cuda.shares': shares = 0 } = parseSlots(requested)
  return count === 0 ? 0 : Math.min(100, ((gpus * 100 + shares) * clusterSize) / count)
}

/**
 * The charts of a session, with what was asked for as a line.
 * @param step seconds between two figures
 */
export function sessionCharts(
  session: Pick<Session, 'requested' | 'clusterSize'>,
  figures: readonly SessionStats[],
  step: number,
): SessionChart[] {
  const times = figures.map(({ at }) => Date.parse(at) / 1000)
  const { cpu = 0, mem = 0 } = parseSlots(session.requested)
  const of = (read: (stats: SessionStats) => number | null) => figures.map(read)
  const rate = (read: (stats: SessionStats) => number) => ratesOf(figures.map(read), times)
  const points = (...lines: ChartPoints['lines']) => withGaps({ times, lines }, step)
  const limit = (value: number) =>
    value > 0 ? { label: t('chartRequested'), value: value * session.clusterSize } : null
  const gpuCount = Math.max(0, ...figures.map(({ gpus }) => gpus.length))
  const share = gpuShare(session, gpuCount)
  const charts: SessionChart[] = [
    {
      key: 'cpu',
      title: t('chartCpu'),
      points: points({ label: t('chartUsed'), values: of(({ cpuMilli }) => cpuMilli) }),
      format: value => formatCores(value),
      binary: false,
      limit: limit(cpu),
    },
    {
      key: 'memory',
      title: t('chartMemory'),
      points: points({ label: t('chartUsed'), values: of(({ memBytes }) => memBytes) }),
      format: value => formatBytes(value),
      binary: true,
      limit: limit(mem),
    },
    {
      key: 'gpu',
      title: t('chartGpu'),
      points: points({ label: t('chartUsed'), values: of(gpuUse) }),
      format: value => formatPercent(value / 100),
      binary: false,
      limit: share > 0 ? { label: t('chartRequested'), value: share } : null,
    },
    {
      key: 'gpu-memory',
      title: t('chartGpuMemory'),
      points: points({ label: t('chartUsed'), values: of(gpuMemory) }),
      format: value => formatBytes(value),
      binary: true,
      limit: null,
    },
    {
      key: 'disk',
      title: t('chartDisk'),
      points: points(
        { label: t('chartRead'), values: rate(({ diskReadBytes }) => diskReadBytes) },
        { label: t('chartWritten'), values: rate(({ diskWriteBytes }) => diskWriteBytes) },
      ),
      format: perSecond,
      binary: true,
      limit: null,
    },
    {
      key: 'network',
      title: t('chartNetwork'),
      points: points(
        { label: t('chartReceived'), values: rate(({ netRxBytes }) => netRxBytes) },
        { label: t('chartSent'), values: rate(({ netTxBytes }) => netTxBytes) },
      ),
      format: perSecond,
      binary: true,
      limit: null,
    },
  ]
  return charts.filter(({ key }) => !key.startsWith('gpu') || gpuCount > 0)
}
