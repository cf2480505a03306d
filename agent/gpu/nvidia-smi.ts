import { type Because, because, type DeviceFigures } from '#manager/contract'
import { type FoundGpu } from './gpu-plugin.ts'

const MiB = 2 ** 20

/** Query fields that every driver since 470 understands. The name comes last, so that it may contain a comma. */
export const GPU_FIELDS =
  'uuid,memory.total,mig.mode.current,ecc.errors.uncorrected.volatile.total,utilization.gpu,memory.used,name'

/** A line of `nvidia-smi --query-gpu=GPU_FIELDS --format=csv,noheader,nounits`. */
export interface GpuRow {
  readonly uuid: string
  readonly model: string
  readonly memBytes: number | null
  readonly inMigMode: boolean
  readonly problem: Because | null
  readonly figures: DeviceFigures
}

/** Placeholder for a value if the GPU itself does not answer. */
const BROKEN = /^\[?(unknown error|gpu is lost|gpu requires reset|err!)\]?$/i

/** Parses the rows; other lines are skipped (errors go to the same stream). */
export function parseGpuRows(csv: string): GpuRow[] {
  return csv.split('\n').flatMap((line): GpuRow[] => {
    const [uuid = '', total = '', mig = '', ecc = '', utilization = '', used = '', ...name] = line
      .split(',')
      .map(cell => cell.trim())
    if (!/^GPU-[\w-]+$/.test(uuid)) return []
    const broken = [total, mig, ecc, utilization, used, ...name].find(cell => BROKEN.test(cell))
    const errors = numberOf(ecc) ?? 0
    return [
      {
        uuid,
        model: BROKEN.test(name.join(', ')) ? 'NVIDIA GPU' : name.join(', '),
        memBytes: bytesOf(total),
        inMigMode: mig === 'Enabled',
        problem:
          broken !== undefined
            ? because('gpu_reported_as', { state: broken.replace(/^\[|\]$/g, '') })
            : errors > 0
              ? because('gpu_ecc_errors', { count: errors, gpu: uuid })
              : null,
        figures: { uuid, utilization: numberOf(utilization), memBytes: bytesOf(used) },
      },
    ]
  })
}

export interface MigInstance {
  readonly parent: string
  /** Index on its GPU; the same in `nvidia-smi -q -x`. */
  readonly index: number
  readonly uuid: string
  /** Name of the instance's profile, e.g. `3g.20gb`, `1g.5gb+me`, `1c.3g.20gb`. */
  readonly profile: string
}

/** @param list of `nvidia-smi -L` */
export function parseMigInstances(list: string): MigInstance[] {
  let parent = ''
  return list.split('\n').flatMap(line => {
    const gpu = /^GPU \d+: .*\(UUID: (GPU-[^)]+)\)/.exec(line)
    if (gpu) parent = gpu[1] ?? ''
    const mig = /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)/.exec(line)
    return mig ? [{ parent, profile: mig[1] ?? '', index: Number(mig[2]), uuid: mig[3] ?? '' }] : []
  })
}

export interface MigMemory {
  readonly parent: string
  readonly index: number
  readonly totalBytes: number | null
  readonly usedBytes: number | null
}

/** Memory of MIG instances, which nvidia-smi prints in this format only. @param xml of `nvidia-smi -q -x` */
export function parseMigMemory(xml: string): MigMemory[] {
  return xml.split(/<gpu id=/).flatMap(gpu => {
    const parent = /<uuid>(GPU-[^<]+)<\/uuid>/.exec(gpu)?.[1]
    if (parent === undefined) return []
    return [...gpu.matchAll(/<mig_device>([\s\S]*?)<\/mig_device>/g)].map(([, instance = '']) => {
      const memory = /<fb_memory_usage>([\s\S]*?)<\/fb_memory_usage>/.exec(instance)?.[1] ?? ''
      const bytes = (tag: string) => bytesOf(new RegExp(`<${tag}>(\\d+) MiB</${tag}>`).exec(memory)?.[1] ?? '')
      return {
        parent,
        index: Number(/<index>(\d+)<\/index>/.exec(instance)?.[1]),
        totalBytes: bytes('total'),
        usedBytes: bytes('used'),
      }
    })
  })
}

/** Treats an instance as a device of its own, with the memory that the hardware gives it. */
export function toGpu(
  instance: MigInstance,
  { model, problem, warning = null }: GpuRow & Pick<FoundGpu, 'warning'>,
  memory: MigMemory | undefined,
): FoundGpu {
  return {
    uuid: instance.uuid,
    model: `${model} ${instance.profile}`,
    memBytes: memory?.totalBytes ?? profileBytes(instance.profile),
    mode: 'mig',
    // Compute instances of one GPU instance have separate processors but share its memory.
    sharedBecause: /^\d+c\./.test(instance.profile) ? because('compute_instance_shares') : null,
    problem,
    warning,
  }
}

/** Parses the description of a GPU in /proc/driver/nvidia/gpus, which is there even if nvidia-smi fails. */
export function parseProcGpu(information: string): { uuid: string; model: string } | undefined {
  const field = (name: string) => new RegExp(`^${name}:\\s*(.+?)\\s*$`, 'm').exec(information)?.[1]
  const uuid = field('GPU UUID')
  return uuid !== undefined && /^GPU-[0-9a-f-]+$/.test(uuid)
    ? { uuid, model: field('Model') ?? 'NVIDIA GPU' }
    : undefined
}

/** Approximate memory: `3g.20gb` has about 20 GB. */
function profileBytes(profile: string): number {
  const match = /\.(\d+)gb/.exec(profile)
  return match ? Number(match[1]) * 2 ** 30 : 0
}

/** Null for `[N/A]`, `[Not Supported]` and the like: unknown is not 0. */
function numberOf(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null
}

function bytesOf(mebibytes: string): number | null {
  const number = numberOf(mebibytes)
  return number === null ? null : number * MiB
}
