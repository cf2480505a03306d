import { type EngineClient } from '../docker/engine-client.ts'
import { type GpuFinder, type GpuPlugin } from './gpu-plugin.ts'
import { createNvidiaLimits } from './memory-limits.ts'
import { createNvidiaGpus, readGpuIndexes } from './nvidia.ts'
import { createNvidiaRequests } from './nvidia-requests.ts'
import { createProbe } from './probe.ts'

export interface NvidiaPluginDeps {
  readonly engine: EngineClient
  /** Whether the engine has the files and programs of this machine. */
  readonly isEngineHere: () => boolean
  /** UUIDs, or `all`: GPUs shared in parts until an admin sets another mode. */
  readonly shared: ReadonlySet<string>
  /** Image with `python3` for the probe of memory limits. */
  readonly probeImage: string
}

/** NVIDIA's GPUs: found by nvidia-smi, handed out by CDI or NVIDIA's hook, with limits of the driver for shares. */
export function createNvidiaPlugin({ engine, isEngineHere, shared, probeImage }: NvidiaPluginDeps): GpuPlugin {
  const limits = createNvidiaLimits()
  const requests = createNvidiaRequests({ engine, isEngineHere, indexes: readGpuIndexes })
  const probe = createProbe({ engine, limits, requests, image: probeImage })
  return nvidiaPlugin(createNvidiaGpus({ shared }), { requests, shares: { by: 'driver', probe, limits } })
}

/** A plugin with these parts. */
export const nvidiaPlugin = (finder: GpuFinder, parts: Pick<GpuPlugin, 'requests' | 'shares'>): GpuPlugin => ({
  ...finder,
  ...parts,
  owns: uuid => /^(GPU|MIG)-/.test(uuid),
})
