import { type SessionStats } from '#manager/contract'
import { type StatsMinute } from '../store/tables/operation.ts'
import { GpuMeans } from './gpu-figures.ts'
import { addMinutes } from './minute.ts'

/** Figures of a period that begins at `at` (milliseconds since the epoch). */
export interface Point extends StatsMinute {
  readonly at: number
}

export function pointOf(stats: SessionStats): Point {
  const { at, cpuSeconds = 0, ...figures } = stats
  return { ...figures, cpuSeconds, samples: 1, at: Date.parse(at) }
}

/**
 * Merges points of one source into steps: rates are means weighted by samples, totals are those of the last point.
 * Pure. @param points oldest first
 */
export function toSteps(points: readonly Point[], stepMs: number): Point[] {
  const steps = Map.groupBy(points, point => Math.floor(point.at / stepMs) * stepMs)
  return [...steps].map(([at, within]) => ({ ...meanOf(within), at }))
}

/** Adds the steps of several kernels up to those of their session. Oldest first. Pure. */
export function addSources(sources: readonly (readonly Point[])[]): Point[] {
  const sums = new Map<number, Point>()
  for (const point of sources.flat()) {
    const other = sums.get(point.at)
    sums.set(point.at, other ? { ...addMinutes(other, point), at: point.at } : point)
  }
  return [...sums.values()].toSorted((a, b) => a.at - b.at)
}

export function toSessionStats({ at, samples: _, gpus, ...figures }: Point): SessionStats {
  return { at: new Date(at).toISOString(), ...figures, gpus: [...gpus] }
}

function meanOf(points: readonly Point[]): StatsMinute {
  const last = points.at(-1)
  if (!last) throw new Error('a step has no points')
  const samples = points.reduce((sum, point) => sum + point.samples, 0)
  const mean = (of: (point: Point) => number) =>
    points.reduce((sum, point) => sum + of(point) * point.samples, 0) / Math.max(1, samples)
  const uuids = [...new Set(points.flatMap(point => point.gpus.map(gpu => gpu.uuid)))]
  const gpus = new GpuMeans()
  for (const point of points) {
    const of = (uuid: string) => point.gpus.find(gpu => gpu.uuid === uuid) ?? { uuid, utilization: 0, memBytes: 0 }
    gpus.add(uuids.map(of), point.samples)
  }
  return {
    ...last,
    samples,
    cpuMilli: Math.round(mean(point => point.cpuMilli)),
    memBytes: Math.round(mean(point => point.memBytes)),
    memPeakBytes: Math.max(...points.map(point => point.memPeakBytes)),
    gpus: gpus.rounded(),
  }
}
