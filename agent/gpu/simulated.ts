import { readFile } from 'node:fs/promises'
import { parse } from 'smol-toml'
import { z } from 'zod'
import { AppError, because, DeviceMode, parseAmount } from '#manager/contract'
import { isSimulated } from '../docker/container-config.ts'
import { type FoundGpu, type GpuPlugin } from './gpu-plugin.ts'

const SimulatedGpus = z.object({
  gpu: z.array(
    z.object({
      uuid: z.string().refine(isSimulated, 'must start with "SIM-"'),
      model: z.string().default('Simulated GPU'),
      memory: z.string().default('16g'),
      mode: DeviceMode.default('whole'),
    }),
  ),
})

/**
 * GPUs that exist only in a file, for tests, demos and simulations. Sessions see their names in BERTH_SIMULATED_GPUS.
 *
 *     [[gpu]]
 *     uuid = "SIM-0"          # must start with SIM-
 *     model = "Simulated A100"
 *     memory = "40g"
 *     mode = "whole"          # or "shared", or "mig"; counts until an admin sets another mode
 */
export function createSimulatedGpus(path: string): GpuPlugin {
  return {
    name: 'simulated',
    owns: isSimulated,
    shares: { by: 'nobody', reason: because('limits_of_simulated') },
    async probe() {
      try {
        return { gpus: parseSimulatedGpus(await readFile(path, 'utf8')), figures: [] }
      } catch (error) {
        throw new AppError(
          'config_invalid',
          { why: `${path} does not describe GPUs: ${String(error)}` },
          { cause: error },
        )
      }
    },
    figures: () => Promise.resolve([]),
    processes: () => Promise.resolve(new Map()),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

export function parseSimulatedGpus(text: string): FoundGpu[] {
  return SimulatedGpus.parse(parse(text)).gpu.map(({ memory, ...gpu }) => ({
    ...gpu,
    memBytes: parseAmount('mem', memory) ?? 0,
    sharedBecause: null,
    problem: null,
  }))
}
