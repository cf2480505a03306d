import { sumKnown } from '#base/sum-known'
import { type ResourceSlots, type SessionGpu, type SessionStats } from '#manager/contract'
import { Mean } from './mean.ts'

/**
 * Figures with those of each session apart from those of its devices. Agents of an older version report the devices': on a whole
 * GPU these are the session's too, and on a shared one the session's are not known. Pure.
 *
 * @param slots of the kernel
 */
export function withOwnGpus(stats: SessionStats, slots: ResourceSlots): SessionStats {
  if (stats.gpus.every(gpu => gpu.device)) return stats
  const isShared = (slots['cuda.shares'] ?? 0) > 0
  return { ...stats, gpus: stats.gpus.map(gpu => (gpu.device ? gpu : apart(gpu, isShared))) }
}

function apart({ uuid, utilization, memBytes }: SessionGpu, isShared: boolean): SessionGpu {
  const own = isShared ? { utilization: null, memBytes: null } : { utilization, memBytes }
  return { uuid, ...own, device: { utilization, memBytes, totalBytes: 0 } }
}

/** The use of GPUs by two kernels, which may share a device: each reports its own use of it, and both the same of the device. Pure. */
export function addGpus(one: readonly SessionGpu[], other: readonly SessionGpu[]): SessionGpu[] {
  return [...Map.groupBy([...one, ...other], gpu => gpu.uuid)].map(([uuid, parts]) => {
    const device = parts.findLast(part => part.device)?.device
    return {
      uuid,
      utilization: capped(sumKnown(parts.map(part => part.utilization))),
      memBytes: sumKnown(parts.map(part => part.memBytes)),
      ...(device && { device }),
    }
  })
}

const capped = (percent: number | null) => (percent === null ? null : Math.min(100, percent))

/** Means of the known figures of each GPU. */
export class GpuMeans {
  readonly #gpus = new Map<string, OneGpu>()

  add(gpus: readonly SessionGpu[], weight = 1): void {
    for (const { uuid, utilization, memBytes, device } of gpus) {
      const means = this.#gpus.get(uuid) ?? newMeans()
      means.own.add({ utilization, memBytes }, weight)
      if (device) {
        means.device.add(device, weight)
        means.totalBytes = device.totalBytes
      }
      this.#gpus.set(uuid, means)
    }
  }

  /** In the order in which the GPUs were first added. */
  rounded(): SessionGpu[] {
    return [...this.#gpus].map(([uuid, { own, device, totalBytes }]) => ({
      uuid,
      ...own.rounded(),
      ...(totalBytes === undefined ? {} : { device: { ...device.rounded(), totalBytes } }),
    }))
  }
}

interface OneGpu {
  readonly own: UseMean
  readonly device: UseMean
  /** Undefined without figures of the device. */
  totalBytes: number | undefined
}

const newMeans = (): OneGpu => ({ own: new UseMean(), device: new UseMean(), totalBytes: undefined })

type Use = Pick<SessionGpu, 'utilization' | 'memBytes'>

class UseMean {
  readonly #utilization = new Mean()
  readonly #memBytes = new Mean()

  add({ utilization, memBytes }: Use, weight: number): void {
    this.#utilization.add(utilization, weight)
    this.#memBytes.add(memBytes, weight)
  }

  rounded(): Use {
    return { utilization: this.#utilization.rounded(10), memBytes: this.#memBytes.rounded(1) }
  }
}
