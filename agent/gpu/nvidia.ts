import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parseGpuList } from '#agent/contract'
import { within } from '#base/within'
import { type Because, because, type DeviceFigures } from '#manager/contract'
import { createHealthWatch } from './gpu-health.ts'
import { type FoundGpu, type GpuProbe, type GpuFinder } from './gpu-plugin.ts'
import { createGpuProcesses } from './nvidia-processes.ts'
import {
  GPU_FIELDS,
  type GpuRow,
  type MigInstance,
  parseGpuRows,
  parseMigInstances,
  parseMigMemory,
  parseProcGpu,
  toGpu,
} from './nvidia-smi.ts'
import { createSmi } from './run-smi.ts'
import { watchXids } from './xid.ts'

const run = promisify(execFile)
/** A GPU that has dropped off the bus can block nvidia-smi for long. */
const TIMEOUT_MS = 10_000
/** Rest between two attempts to run an nvidia-smi that is not installed: an attempt costs a fork. */
const MISSING_REST_MS = 60_000
/** Time that a check waits for the look at the health of GPUs. */
const HEALTH_WAIT_MS = 2_000
const QUERY = [`--query-gpu=${GPU_FIELDS}`, '--format=csv,noheader,nounits']

export interface NvidiaOptions {
  /** UUIDs, or `all`: GPUs shared in parts until an admin sets another mode. */
  readonly shared?: ReadonlySet<string>
  readonly program?: string
  readonly procDirectory?: string
  readonly kernelLog?: string
}

type CheckedRow = GpuRow & Pick<FoundGpu, 'warning'>

interface Answers {
  readonly rows: readonly CheckedRow[]
  /** GPUs that do not answer. */
  readonly lost: readonly FoundGpu[]
}

/**
 * Finds GPUs and MIG instances by nvidia-smi, which comes with the driver. Without a driver there are no devices. A device that
 * disappears (lost, fallen off the bus, driver gone) stays in the list with a problem: sessions may hold it.
 */
export function createNvidiaGpus({
  shared = new Set(),
  program = 'nvidia-smi',
  procDirectory = '/proc/driver/nvidia/gpus',
  kernelLog,
}: NvidiaOptions = {}): GpuFinder {
  const ask = createSmi(program)
  const processes = createGpuProcesses(program)
  const health = createHealthWatch(createSmi(program))
  const xids = watchXids(kernelLog)
  const known = new Map<string, FoundGpu>()
  let migFigures: readonly DeviceFigures[] = []
  let missingUntil = -Infinity
  /** Parent GPU of each MIG instance. */
  const parentOf = new Map<string, string>()
  /** Queries the missing GPUs one by one, if the query for all of them left some out. */
  async function askOneByOne(missing: ReadonlyMap<string, FoundGpu>, signal: AbortSignal): Promise<Answers> {
    const rows: GpuRow[] = []
    const lost: FoundGpu[] = []
    for (const [uuid, gpu] of missing) {
      const output = await ask(signal, '-i', uuid, ...QUERY)
      const row = parseGpuRows(output.text).find(one => one.uuid === uuid)
      if (row) rows.push(row)
      else lost.push({ ...gpu, problem: output.failure ?? because('gpu_not_listed') })
    }
    return { rows, lost }
  }

  /** GPUs known to the kernel module, by PCI address: `0000:3b:00.0`. */
  async function readProc(): Promise<{ address: string; uuid: string; model: string }[]> {
    const names = await readdir(procDirectory).catch(() => [])
    const texts = names.map(name => readFile(join(procDirectory, name, 'information'), 'utf8').catch(() => ''))
    const found = (await Promise.all(texts)).map(parseProcGpu)
    return names.flatMap((address, index) => (found[index] ? [{ address, ...found[index] }] : []))
  }

  /** GPUs that should be present: found before, or known to the kernel module. */
  function expected(module: readonly { uuid: string; model: string }[]): Map<string, FoundGpu> {
    const wholes = [...known.values()].filter(gpu => gpu.mode !== 'mig')
    const others = [...module, ...[...parentOf.values()].map(uuid => ({ uuid, model: 'NVIDIA GPU' }))]
    return new Map([...others.map(gpu => ({ ...whole(gpu.uuid), ...gpu })), ...wholes].map(gpu => [gpu.uuid, gpu]))
  }

  const whole = (uuid: string) => ({
    mode: shared.has('all') || shared.has(uuid) ? ('shared' as const) : ('whole' as const),
    memBytes: 0,
    sharedBecause: null,
    problem: null,
  })

  /** Reads the MIG instances and their memory. Known instances of a lost GPU are kept, with the problem of that GPU. */
  async function readMig({ rows, lost }: Answers, signal: AbortSignal): Promise<GpuProbe> {
    const parents = rows.filter(row => row.inMigMode)
    const gpus: FoundGpu[] = []
    const figures: DeviceFigures[] = []
    let failure: Because | null = null
    if (parents.length > 0) {
      const [list, details] = await Promise.all([ask(signal, '-L'), ask(signal, '-q', '-x')])
      failure = list.failure
      const memory = parseMigMemory(details.text)
      for (const instance of parseMigInstances(list.text)) {
        const parent = parents.find(row => row.uuid === instance.parent)
        if (!parent) continue
        const own = memory.find(one => isOf(one, instance))
        gpus.push(toGpu(instance, parent, own))
        figures.push({ uuid: instance.uuid, utilization: null, memBytes: own?.usedBytes ?? null })
        parentOf.set(instance.uuid, instance.parent)
      }
    }
    for (const [uuid, parent] of parentOf) {
      if (gpus.some(gpu => gpu.uuid === uuid)) continue
      const before = known.get(uuid)
      const problem = lost.find(gpu => gpu.uuid === parent)?.problem
      const isThere = failure !== null && parents.some(row => row.uuid === parent)
      if (before && problem !== undefined) gpus.push({ ...before, problem })
      else if (before && isThere) gpus.push(before)
      // An administrator removed the instance, or repartitioned its GPU.
      else parentOf.delete(uuid)
    }
    return { gpus, figures }
  }

  return {
    name: 'nvidia',
    async probe(signal) {
      if (known.size === 0 && performance.now() < missingUntil) return { gpus: [], figures: [] }
      const all = await ask(signal, ...QUERY)
      if (all.isMissing && known.size === 0) {
        missingUntil = performance.now() + MISSING_REST_MS
        return { gpus: [], figures: [] }
      }
      const [module, logged] = await Promise.all([readProc(), xids.read()])
      // A slow look is not waited for: what it finds counts from the next check on.
      const late = () => new Error('the look at the health of GPUs is late')
      await within(HEALTH_WAIT_MS, health.look(signal), late).catch(() => undefined)
      const answered = parseGpuRows(all.text)
      const seen = new Set(answered.map(row => row.uuid))
      const missing = new Map([...expected(module)].filter(([uuid]) => !seen.has(uuid)))
      const rest = await askOneByOne(missing, signal)
      const rows = [...answered, ...rest.rows].map(row => {
        const address = module.find(({ uuid }) => uuid === row.uuid)?.address.replace(/\.\d$/, '')
        const found = health.of(row.uuid)
        const problem = row.problem ?? logged.get(address?.toLowerCase() ?? '') ?? found.problem
        return { ...row, problem, warning: found.warning }
      })
      const instanced = new Set(parentOf.values())
      const mig = await readMig({ rows, lost: rest.lost }, signal)
      migFigures = mig.figures
      const wholes = rows
        .filter(row => !row.inMigMode)
        .map(({ uuid, model, memBytes, problem, warning }) => ({
          ...whole(uuid),
          uuid,
          model,
          memBytes: memBytes ?? 0,
          problem,
          warning,
        }))
      const gpus = [...wholes, ...rest.lost.filter(gpu => !instanced.has(gpu.uuid)), ...mig.gpus]
      known.clear()
      for (const gpu of gpus) known.set(gpu.uuid, gpu)
      return { gpus, figures: [...figuresOf(rows), ...mig.figures] }
    },
    async figures(signal) {
      return [...figuresOf(parseGpuRows((await ask(signal, ...QUERY)).text)), ...migFigures]
    },
    processes: (uuids, signal) =>
      processes.of(
        uuids.filter(uuid => known.has(uuid)),
        signal,
      ),
    async [Symbol.asyncDispose]() {
      await Promise.all([processes[Symbol.asyncDispose](), xids[Symbol.asyncDispose]()])
    },
  }
}

/** Index of each GPU and MIG instance by UUID, as the driver numbers them now. @throws if nvidia-smi fails */
export async function readGpuIndexes(program = 'nvidia-smi'): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await run(program, ['-L'], { timeout: TIMEOUT_MS, killSignal: 'SIGKILL' })
  return new Map(parseGpuList(stdout).map(({ uuid, index }) => [uuid, index]))
}

/** Statistics of whole GPUs; for a GPU in MIG mode, its instances are counted instead. */
function figuresOf(rows: readonly GpuRow[]): DeviceFigures[] {
  return rows.filter(row => !row.inMigMode).map(row => row.figures)
}

function isOf(one: { parent: string; index: number }, instance: MigInstance): boolean {
  return one.parent === instance.parent && one.index === instance.index
}
