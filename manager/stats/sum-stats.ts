import { sumKnown } from '#base/sum-known'
import { type SessionStats } from '#manager/contract'
import { addGpus } from './gpu-figures.ts'

/** Figures of a session: the sum over its kernels, with the time of the latest. Null without any. */
export function sumStats(all: readonly SessionStats[]): SessionStats | null {
  const [first, ...others] = all
  if (!first) return null
  return others.reduce(add, first)
}

function add(a: SessionStats, b: SessionStats): SessionStats {
  return {
    ...a,
    at: a.at > b.at ? a.at : b.at,
    cpuMilli: a.cpuMilli + b.cpuMilli,
    ...(a.cpuSeconds === undefined || b.cpuSeconds === undefined ? {} : { cpuSeconds: a.cpuSeconds + b.cpuSeconds }),
    memBytes: a.memBytes + b.memBytes,
    memPeakBytes: a.memPeakBytes + b.memPeakBytes,
    netRxBytes: a.netRxBytes + b.netRxBytes,
    netTxBytes: a.netTxBytes + b.netTxBytes,
    diskReadBytes: a.diskReadBytes + b.diskReadBytes,
    diskWriteBytes: a.diskWriteBytes + b.diskWriteBytes,
    scratchBytes: sumKnown([a.scratchBytes, b.scratchBytes]),
    gpus: addGpus(a.gpus, b.gpus),
  }
}
