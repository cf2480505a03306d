import { because } from '#manager/contract'
import { type EngineClient } from '../docker/engine-client.ts'
import { createAmdGpus, isAmdGpu } from './amd.ts'
import { createAmdRequests } from './amd-requests.ts'
import { type GpuPlugin } from './gpu-plugin.ts'

export interface AmdPluginDeps {
  readonly engine: EngineClient
  readonly isEngineHere: () => boolean
  /** UUIDs, or `all`: GPUs shared in parts until an admin sets another mode. */
  readonly shared: ReadonlySet<string>
}

/**
 * AMD's GPUs. Their shares are only added up: no limit of the driver counts all programs of a container, and the memory that the driver lists
 * by process is that of ROCm's programs alone, so that a guard could be passed by Vulkan (docs/adr/0089-gpus-of-other-makers.md).
 */
export function createAmdPlugin({ engine, isEngineHere, shared }: AmdPluginDeps): GpuPlugin {
  const finder = createAmdGpus({ shared })
  return {
    ...finder,
    owns: isAmdGpu,
    requests: createAmdRequests({ engine, isEngineHere, finder }),
    shares: { by: 'nobody', reason: because('amd_shares_accounted') },
  }
}
