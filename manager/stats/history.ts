import { AppError, because, type KernelId, type SessionId, type SessionStats } from '#manager/contract'
import { type LiveStats } from './live.ts'
import { type Store } from '../store/open-store.ts'
import { listMinutes } from '../store/sessions/session-stats.ts'
import { addSources, type Point, pointOf, toSessionStats, toSteps } from './steps.ts'

export interface HistoryQuery {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly step?: number | undefined
}

export interface History {
  /** Seconds. */
  readonly step: number
  readonly items: SessionStats[]
}

export const MAX_POINTS = 1500
const SECONDS_KEPT_MS = 5 * 60_000
const DEFAULT_SPAN_MS = 60 * 60_000

export interface Range {
  readonly from: number
  readonly to: number
  readonly stepMs: number
  /** True if the points are per second, from memory. */
  readonly fine: boolean
}

/** The range and step to serve for a query. Pure. @throws AppError `bad_request` */
export function rangeOf({ from, to, step }: HistoryQuery, now: number): Range {
  const end = to === undefined ? now : Date.parse(to)
  const start = from === undefined ? end - DEFAULT_SPAN_MS : Date.parse(from)
  if (start >= end) throw new AppError('bad_request', because('from_before_to'))
  const fine = start >= now - SECONDS_KEPT_MS && (step === undefined || step < 60)
  const unit = fine ? 1_000 : 60_000
  const least = Math.ceil((end - start) / MAX_POINTS / unit) * unit
  const wanted = Math.ceil(((step ?? 0) * 1000) / unit) * unit
  return { from: start, to: end, stepMs: Math.max(least, wanted, unit), fine }
}

/** Figures of a session, summed over its kernels, or of one of several kernels: per second from memory, per minute from the database. */
export async function readHistory(
  { store: { db, now }, live }: { store: Store; live: Pick<LiveStats, 'recentStats'> },
  { id, kernels: all, kernel }: { id: SessionId; kernels: readonly KernelId[]; kernel?: KernelId | undefined },
  query: HistoryQuery,
): Promise<History> {
  const range = rangeOf(query, now())
  const kernels = kernel === undefined ? all : [kernel]
  const { from, to, stepMs } = range
  const within = ({ at }: Point) => at >= from && at < to
  const recent = (step: number) =>
    addSources(kernels.map(kernel => toSteps(live.recentStats(kernel).map(pointOf), step)))
  if (range.fine) return reply(toSteps(recent(1_000).filter(within), stepMs), stepMs)
  // The minutes of a session with one kernel are those of the kernel.
  const stored = await listMinutes(
    db,
    { id, kernel: all.length > 1 ? kernel : undefined },
    new Date(from),
    new Date(to),
  )
  const minutes = stored.map(({ at, stats }): Point => ({ ...stats, at: at.getTime() }))
  const last = minutes.at(-1)?.at ?? -Infinity
  // The current minute is not stored yet.
  const running = recent(60_000).filter(point => point.at > last && within(point))
  return reply(toSteps([...minutes, ...running], stepMs), stepMs)
}

function reply(points: readonly Point[], stepMs: number): History {
  return { step: stepMs / 1000, items: points.map(toSessionStats) }
}
