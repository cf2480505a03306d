import { type SessionStats } from '#manager/contract'

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

type GpuStats = SessionStats['gpus'][number]

/** The use of GPUs by two kernels, which may share a device: each reports its own use of it. Pure. */
export function addGpus(one: readonly GpuStats[], other: readonly GpuStats[]): GpuStats[] {
  return [...Map.groupBy([...one, ...other], gpu => gpu.uuid)].map(([uuid, parts]) => ({
    uuid,
    utilization: capped(sumKnown(parts.map(part => part.utilization))),
    memBytes: sumKnown(parts.map(part => part.memBytes)),
  }))
}

const capped = (percent: number | null) => (percent === null ? null : Math.min(100, percent))

/** The sum; unknown (null) as soon as one part is. */
function sumKnown(parts: readonly (number | null)[]): number | null {
  return parts.reduce<number | null>((sum, part) => (sum === null || part === null ? null : sum + part), 0)
}
