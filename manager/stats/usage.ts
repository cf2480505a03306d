import { type SessionStats, type SessionUsage } from '#manager/contract'
import { type StatsMinute } from '../store/tables/operation.ts'

/** Input for the usage of a session. */
export interface UsageFacts {
  /** Newest figures of each kernel, if known. */
  readonly live: readonly (SessionStats | null)[]
  /** The last minute that was written. */
  readonly stored: StatsMinute | undefined
  /** GPUs that each kernel has held, and for how long; `gpus` counts whole GPUs, so half a GPU is 0.5. */
  readonly held: readonly { readonly gpus: number; readonly ms: number }[]
  /** CPU time of interrupted runs. The other figures are of the present run. */
  readonly earlierCpuSeconds?: number
}

/**
 * Usage of a session. CPU and memory come from counters of the containers, GPU time from the held amounts: there is no running sum that
 * could drift. Pure.
 */
export function usageOf({ live, stored, held, earlierCpuSeconds = 0 }: UsageFacts): SessionUsage | null {
  const known = live.filter(stats => stats !== null)
  if (!stored && known.length === 0) return null
  const sum = (of: (stats: SessionStats) => number) => known.reduce((total, stats) => total + of(stats), 0)
  return {
    cpuSeconds: round(
      earlierCpuSeconds +
        Math.max(
          stored?.cpuSeconds ?? 0,
          sum(({ cpuSeconds = 0 }) => cpuSeconds),
        ),
    ),
    gpuSeconds: round(held.reduce((sum, { gpus, ms }) => sum + gpus * ms, 0) / 1000),
    memPeakBytes: Math.max(
      stored?.memPeakBytes ?? 0,
      sum(({ memPeakBytes }) => memPeakBytes),
    ),
  }
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10
}
