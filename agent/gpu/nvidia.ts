import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Device } from '#manager/contract'
import { type GpuFigures, type GpuPlugin } from './gpu-plugin.ts'

const run = promisify(execFile)
const TIMEOUT_MS = 10_000
const MiB = 2 ** 20

export interface NvidiaOptions {
  /** UUIDs, or `all`. */
  readonly shared?: ReadonlySet<string>
  readonly program?: string
}

/**
 * Whole GPUs, parts of them and MIG instances by nvidia-smi, which comes with the driver. No driver, no devices.
 *
 * Parts are accounting: Docker hands a GPU over as a whole, and what a program takes of it is its own affair. Nothing
 * that runs in the container can hold it to its part, so they are never called enforced.
 */
export function createNvidiaGpus({ shared = new Set(), program = 'nvidia-smi' }: NvidiaOptions = {}): GpuPlugin {
  const ask = async (...args: string[]) => (await run(program, args, { timeout: TIMEOUT_MS })).stdout
  return {
    name: 'nvidia',
    async discover() {
      try {
        const [query, list] = await Promise.all([
          ask('--query-gpu=uuid,name,memory.total,mig.mode.current', '--format=csv,noheader,nounits'),
          ask('-L'),
        ])
        return parseNvidiaDevices(query, list, shared)
      } catch {
        // Not installed, or the driver does not answer: either way there is nothing to give away.
        return []
      }
    },
    async figures() {
      try {
        return parseNvidiaFigures(
          await ask('--query-gpu=uuid,utilization.gpu,memory.used', '--format=csv,noheader,nounits'),
        )
      } catch {
        return []
      }
    },
  }
}

/**
 * A GPU in MIG mode is offered as its instances and not as itself, and its instances as wholes.
 * @param query `uuid,name,memory.total,mig.mode.current` as CSV without header and units (MiB)   @param list of `nvidia-smi -L`
 */
export function parseNvidiaDevices(query: string, list: string, shared: ReadonlySet<string> = new Set()): Device[] {
  const instances = parseMigInstances(list)
  return rows(query).flatMap(([uuid = '', model = '', memory = '', mig = '']): Device[] => {
    if (!uuid.startsWith('GPU-')) return []
    const memBytes = numberOf(memory) * MiB
    const device = { slot: 'cuda.device', plugin: 'nvidia' } as const
    if (mig !== 'Enabled' && (shared.has('all') || shared.has(uuid))) {
      return [{ plugin: 'nvidia', slot: 'cuda.shares', uuid, model, memBytes, isolation: 'accounted' }]
    }
    if (mig !== 'Enabled') return [{ ...device, uuid, model, memBytes, isolation: 'whole' }]
    return instances
      .filter(instance => instance.parent === uuid)
      .map(instance => ({
        ...device,
        uuid: instance.uuid,
        model: `${model} ${instance.profile}`,
        memBytes: profileBytes(instance.profile) ?? memBytes,
        isolation: 'mig',
      }))
  })
}

function parseMigInstances(list: string): { parent: string; uuid: string; profile: string }[] {
  let parent = ''
  return list.split('\n').flatMap(line => {
    const gpu = /^GPU \d+: .*\(UUID: (GPU-[^)]+)\)/.exec(line)
    if (gpu) parent = gpu[1] ?? ''
    const mig = /^\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (MIG-[^)]+)\)/.exec(line)
    return mig ? [{ parent, profile: mig[1] ?? '', uuid: mig[2] ?? '' }] : []
  })
}

/** `3g.20gb` has 20 GB. */
function profileBytes(profile: string): number | undefined {
  const match = /\.(\d+)gb/.exec(profile)
  return match ? Number(match[1]) * 2 ** 30 : undefined
}

/** @param query `uuid,utilization.gpu,memory.used` as CSV without header and units (percent, MiB) */
export function parseNvidiaFigures(query: string): GpuFigures[] {
  return rows(query).flatMap(([uuid = '', utilization = '', memory = '']) =>
    uuid.startsWith('GPU-') && /^\d+$/.test(utilization)
      ? [{ uuid, utilization: Number(utilization), memBytes: numberOf(memory) * MiB }]
      : [],
  )
}

function rows(csv: string): string[][] {
  return csv
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(line => line.split(',').map(cell => cell.trim()))
}

/** `[N/A]` and `[Not Supported]` count as 0. */
function numberOf(text: string): number {
  return /^\d+$/.test(text) ? Number(text) : 0
}
