import { sumKnown } from '#base/sum-known'
import { type SessionGpu } from '#manager/contract'

/** Figures of all GPUs of a session, or of the whole devices, together; null where one of them is not known, which is not 0. */
export interface GpuUse {
  /** Mean in percent. */
  readonly utilization: number | null
  readonly memBytes: number | null
}

export const ownUse = (gpus: readonly SessionGpu[]): GpuUse => together(gpus)

/** Use of the devices by everybody; undefined where it is that of the session, or not reported. */
export function deviceUse(gpus: readonly SessionGpu[]): GpuUse | undefined {
  const devices = gpus.flatMap(({ device }) => device ?? [])
  if (devices.length === 0 || devices.length < gpus.length) return undefined
  const [whole, own] = [together(devices), together(gpus)]
  return whole.utilization === own.utilization && whole.memBytes === own.memBytes ? undefined : whole
}

function together(parts: readonly GpuUse[]): GpuUse {
  const utilization = sumKnown(parts.map(part => part.utilization))
  return {
    utilization: utilization === null ? null : utilization / parts.length,
    memBytes: sumKnown(parts.map(part => part.memBytes)),
  }
}
