import { parseAmount, parseSlots, type Session, type SessionStats } from '#manager/contract'
import { deviceUse, type GpuUse, ownUse } from '../../data/sessions/gpu-use.ts'
import { formatBytes, formatCores, formatPercent } from '../../ui/format.ts'
import { ratesOf, withGaps, type ChartPoints } from '../../ui/chart-points.ts'
import { t } from '../../words/en/charts.ts'

/** A chart of a session. */
export interface SessionChart {
  readonly key: 'cpu' | 'memory' | 'gpu' | 'gpu-memory' | 'disk' | 'network'
  readonly title: string
  readonly points: ChartPoints
  readonly format: (value: number) => string
  /** True if the values are bytes. */
  readonly binary: boolean
  readonly limit: { readonly label: string; readonly value: number } | null
}

const perSecond = (value: number) => `${formatBytes(value)}/s`

/** Most of the mean use that the GPUs allow: 100 % for whole ones, 30 % for a share of 0.3. @param count GPUs that were measured */
function gpuShare({ requested, clusterSize }: Pick<Session, 'requested' | 'clusterSize'>, count: number): number {
  const { 'cuda.device': gpus = 0, 'cuda.shares': shares = 0 } = parseSlots(requested)
  return count === 0 ? 0 : Math.min(100, ((gpus * 100 + shares) * clusterSize) / count)
}

/** Memory that the shares are, of each container on each GPU; 0 for whole GPUs, and where the size of a GPU is not known. */
function shareBytes(kernels: Session['kernels'], figures: readonly SessionStats[]): number {
  const totals = new Map(figures.flatMap(({ gpus }) => gpus.map(({ uuid, device }) => [uuid, device?.totalBytes ?? 0])))
  const shares = kernels.flatMap(({ devices }) => devices.filter(({ slot }) => slot === 'cuda.shares'))
  if (shares.some(({ uuid }) => !totals.get(uuid))) return 0
  return shares.reduce(
    (sum, { uuid, amount }) => sum + ((totals.get(uuid) ?? 0) * (parseAmount('cuda.shares', amount) ?? 0)) / 100,
    0,
  )
}

/**
 * The charts of a session, with the requested amount as a line.
 * @param step seconds between two figures
 */
export function sessionCharts(
  session: Pick<Session, 'requested' | 'clusterSize' | 'kernels'>,
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
  const memoryShare = shareBytes(session.kernels, figures)
  const whole = figures.map(({ gpus }) => deviceUse(gpus))
  /** The use by the session; below it, where others are on its GPUs, that of the whole GPUs. */
  const gpuPoints = (read: (use: GpuUse) => number | null) =>
    points(
      { label: t('chartUsed'), values: of(({ gpus }) => read(ownUse(gpus))) },
      ...(whole.some(use => use !== undefined)
        ? [{ label: t('chartWholeGpu'), values: of(({ gpus }) => read(deviceUse(gpus) ?? ownUse(gpus))) }]
        : []),
    )
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
      points: gpuPoints(({ utilization }) => utilization),
      format: value => formatPercent(value / 100),
      binary: false,
      limit: share > 0 ? { label: t('chartRequested'), value: share } : null,
    },
    {
      key: 'gpu-memory',
      title: t('chartGpuMemory'),
      points: gpuPoints(({ memBytes }) => memBytes),
      format: value => formatBytes(value),
      binary: true,
      limit: memoryShare > 0 ? { label: t('chartRequested'), value: memoryShare } : null,
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
