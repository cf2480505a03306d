import { type SessionStats } from '#manager/contract'
import { type StatsMinute } from '../store/tables/operation.ts'

/** Sums over the samples of one kernel within a minute; a few hundred bytes, whatever the rate of samples. */
export class MinuteSums {
  samples = 0
  #cpuMilli = 0
  #memBytes = 0
  #last: SessionStats | undefined
  readonly #gpus = new Map<string, { utilization: number; memBytes: number }>()

  add(stats: SessionStats): void {
    this.samples++
    this.#cpuMilli += stats.cpuMilli
    this.#memBytes += stats.memBytes
    for (const { uuid, utilization, memBytes } of stats.gpus) {
      const sums = this.#gpus.get(uuid) ?? { utilization: 0, memBytes: 0 }
      this.#gpus.set(uuid, { utilization: sums.utilization + utilization, memBytes: sums.memBytes + memBytes })
    }
    this.#last = stats
  }

  /** Undefined without samples. @param secondsBefore CPU time up to the minute, for agents that do not tell it themselves */
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
      gpus: [...this.#gpus].map(([uuid, sums]) => ({
        uuid,
        utilization: Math.round((sums.utilization / samples) * 10) / 10,
        memBytes: Math.round(sums.memBytes / samples),
      })),
    }
  }
}

/** Of a kernel that has nothing to tell in a minute any more: its counters, as they were last. Pure. */
export function totalsOf(last: StatsMinute | undefined): StatsMinute[] {
  return last ? [{ ...last, samples: 0, cpuMilli: 0, memBytes: 0, scratchBytes: null, gpus: [] }] : []
}

/** Kernels of one session in the same minute. Peaks of kernels need not meet: their sum is an upper bound. Pure. */
export function addMinutes(one: StatsMinute, other: StatsMinute): StatsMinute {
  return {
    samples: Math.max(one.samples, other.samples),
    cpuMilli: one.cpuMilli + other.cpuMilli,
    cpuSeconds: one.cpuSeconds + other.cpuSeconds,
    memBytes: one.memBytes + other.memBytes,
    memPeakBytes: one.memPeakBytes + other.memPeakBytes,
    netRxBytes: one.netRxBytes + other.netRxBytes,
    netTxBytes: one.netTxBytes + other.netTxBytes,
    diskReadBytes: one.diskReadBytes + other.diskReadBytes,
    diskWriteBytes: one.diskWriteBytes + other.diskWriteBytes,
    scratchBytes:
      one.scratchBytes === null && other.scratchBytes === null
        ? null
        : (one.scratchBytes ?? 0) + (other.scratchBytes ?? 0),
    gpus: [...one.gpus, ...other.gpus.filter(({ uuid }) => one.gpus.every(gpu => gpu.uuid !== uuid))],
  }
}
