import { type SessionStats } from '#manager/contract'
import { addGpus, GpuMeans } from './gpu-figures.ts'
import { type KeptMinute, type StatsMinute, type Totals } from '../store/tables/operation.ts'

/** Sums over the samples of one kernel within a minute; a few hundred bytes, whatever the rate of samples. */
export class MinuteSums {
  samples = 0
  #cpuMilli = 0
  #memBytes = 0
  #last: SessionStats | undefined
  readonly #gpus = new GpuMeans()

  add(stats: SessionStats): void {
    this.samples++
    this.#cpuMilli += stats.cpuMilli
    this.#memBytes += stats.memBytes
    this.#gpus.add(stats.gpus)
    this.#last = stats
  }

  /** Undefined without samples. @param secondsBefore CPU time up to the minute, for agents that do not report it */
  mean(secondsBefore: number): StatsMinute | undefined {
    const { samples } = this
    const last = this.#last
    if (!last) return undefined
    return {
      samples,
      cpuMilli: Math.round(this.#cpuMilli / samples),
      cpuSeconds: last.cpuSeconds ?? secondsBefore + this.#cpuMilli / 1000,
      memBytes: Math.round(this.#memBytes / samples),
      memPeakBytes: last.memPeakBytes,
      netRxBytes: last.netRxBytes,
      netTxBytes: last.netTxBytes,
      diskReadBytes: last.diskReadBytes,
      diskWriteBytes: last.diskWriteBytes,
      scratchBytes: last.scratchBytes,
      gpus: this.#gpus.rounded(),
    }
  }
}

/** The totals of a minute. Pure. */
function totalsOf({ cpuSeconds, memPeakBytes, netRxBytes, netTxBytes, diskReadBytes, diskWriteBytes }: Totals): Totals {
  return { cpuSeconds, memPeakBytes, netRxBytes, netTxBytes, diskReadBytes, diskWriteBytes }
}

/** Adds the previous totals of kernels without samples in this minute. Pure. */
export function carryOn(minute: KeptMinute, before: KeptMinute | undefined): KeptMinute {
  const { kernels } = minute
  if (!kernels || !before?.kernels) return minute
  const silent = Object.entries(before.kernels).flatMap(([id, used]) =>
    id in kernels ? [] : [[id, totalsOf(used)] as const],
  )
  const totals = silent.reduce((sum, [, used]) => addTotals(sum, used), totalsOf(minute))
  return { ...minute, ...totals, kernels: { ...Object.fromEntries(silent), ...kernels } }
}

/** Adds totals. The peaks of kernels need not coincide, so the sum of peaks is an upper bound. */
function addTotals(one: Totals, other: Totals): Totals {
  return {
    cpuSeconds: one.cpuSeconds + other.cpuSeconds,
    memPeakBytes: one.memPeakBytes + other.memPeakBytes,
    netRxBytes: one.netRxBytes + other.netRxBytes,
    netTxBytes: one.netTxBytes + other.netTxBytes,
    diskReadBytes: one.diskReadBytes + other.diskReadBytes,
    diskWriteBytes: one.diskWriteBytes + other.diskWriteBytes,
  }
}

/** Adds the figures of two kernels of one session in the same minute. Pure. */
export function addMinutes(one: StatsMinute, other: StatsMinute): StatsMinute {
  return {
    ...addTotals(one, other),
    samples: Math.max(one.samples, other.samples),
    cpuMilli: one.cpuMilli + other.cpuMilli,
    memBytes: one.memBytes + other.memBytes,
    scratchBytes:
      one.scratchBytes === null && other.scratchBytes === null
        ? null
        : (one.scratchBytes ?? 0) + (other.scratchBytes ?? 0),
    gpus: addGpus(one.gpus, other.gpus),
  }
}
