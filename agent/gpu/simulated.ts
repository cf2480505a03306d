import { readFile } from 'node:fs/promises'
import { parse } from 'smol-toml'
import { z } from 'zod'
import { AppError, type Device, Isolation, parseAmount } from '#manager/contract'
import { isSimulated } from '../docker/container-config.ts'
import { type GpuPlugin } from './gpu-plugin.ts'

const SimulatedGpus = z.object({
  gpu: z.array(
    z.object({
      uuid: z.string().refine(isSimulated, 'must start with "SIM-"'),
      model: z.string().default('Simulated GPU'),
      memory: z.string().default('16g'),
      mode: z.enum(['whole', 'shared']).default('whole'),
    }),
  ),
})

/**
 * GPUs that exist in a file only, for tests, demos and simulations. Sessions see their names in BERTH_SIMULATED_GPUS.
 *
 *     [[gpu]]
 *     uuid = "SIM-0"          # must start with SIM-
 *     model = "Simulated A100"
 *     memory = "40g"
 *     mode = "whole"          # or "shared": 100 shares, by accounting
 */
export function createSimulatedGpus(path: string): GpuPlugin {
  return {
    name: 'simulated',
    async discover() {
      try {
        return parseSimulatedGpus(await readFile(path, 'utf8'))
      } catch (error) {
        throw new AppError(
          'config_invalid',
          { why: `${path} does not describe GPUs: ${String(error)}` },
          { cause: error },
        )
      }
    },
    figures: () => Promise.resolve([]),
  }
}

export function parseSimulatedGpus(text: string): Device[] {
  return SimulatedGpus.parse(parse(text)).gpu.map(({ uuid, model, memory, mode }) => ({
    uuid,
    model,
    slot: mode === 'whole' ? 'cuda.device' : 'cuda.shares',
    memBytes: parseAmount('mem', memory) ?? 0,
    isolation: mode === 'whole' ? Isolation.enum.whole : Isolation.enum.accounted,
    plugin: 'simulated',
  }))
}
