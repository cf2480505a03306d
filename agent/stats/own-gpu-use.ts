import { sumKnown } from '#base/sum-known'
import { type DeviceFigures } from '#manager/contract'
import { type GpuProcess } from '../gpu/gpu-plugin.ts'

type Use = Pick<DeviceFigures, 'utilization' | 'memBytes'>

export const UNKNOWN_USE: Use = { utilization: null, memBytes: null }

/**
 * The part of a GPU's use that is one session's. Pure.
 *
 * Memory is the sum over its processes: without the driver's own, and without managed memory, which the driver counts for no
 * process. Of the use of time, the driver tells for each process what it was in the last second, or nothing: a dash beside figures of others
 * is an idle process, and where no process has a figure, the use of a GPU is that of the only session on it, and otherwise unknown.
 *
 * @param device use by everybody
 * @param processes all that are on the GPU now
 * @param isOwn whether a process is one of the session
 */
export function ownGpuUse(device: Use, processes: readonly GpuProcess[], isOwn: (pid: number) => boolean): Use {
  const own = processes.filter(({ pid }) => isOwn(pid))
  if (own.length === 0) return { utilization: 0, memBytes: 0 }
  return {
    memBytes: sumKnown(own.map(({ memBytes }) => memBytes)),
    utilization: ownUtilization(device, processes, own),
  }
}

function ownUtilization({ utilization }: Use, all: readonly GpuProcess[], own: readonly GpuProcess[]): number | null {
  if (all.some(process => process.utilization !== null)) {
    return Math.min(
      100,
      own.reduce((sum, process) => sum + (process.utilization ?? 0), 0),
    )
  }
  return utilization === 0 || own.length === all.length ? utilization : null
}
