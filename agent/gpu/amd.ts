import { within } from '#base/within'
import { type Because, because, type DeviceFigures } from '#manager/contract'
import { type AmdHealth, type AmdRow, parseAmdHealth, parseAmdSmi, parseRocmSmi } from './amd-smi.ts'
import { type AmdDevice, type AmdSysfs, createAmdSysfs } from './amd-sysfs.ts'
import { type FoundGpu, type GpuFinder, type GpuProcess } from './gpu-plugin.ts'
import { createSmi, type RunSmi, type SmiOutput } from './run-smi.ts'

/** Interval between looks by the tool, which is a Python program and takes up to a second of one core. */
const LOOK_EVERY_MS = 60_000
/** Time that a check waits for the tool: what it finds later counts from the next check on. */
const WAIT_MS = 2_000
/** The first check waits until the tool has answered or is given up, because it knows the names of models. */
const FIRST_WAIT_MS = 13_000
/** A driver that has kept a read of its files for so long hangs. */
const SILENT_MS = 10_000
/** Looks in a row that have to find a GPU slowed down. */
const SLOW_LOOKS = 2
/** Less memory has the graphics part of a processor, which nobody wants for computing. */
const LEAST_MEMORY = 2 * 2 ** 30

/** Tools in the order of preference. ROCm's directory is not in the PATH of services. */
const PROGRAMS = ['amd-smi', '/opt/rocm/bin/amd-smi', 'rocm-smi', '/opt/rocm/bin/rocm-smi']

export interface AmdOptions {
  /** UUIDs, or `all`: GPUs shared in parts until an admin sets another mode. */
  readonly shared?: ReadonlySet<string>
  readonly programs?: readonly string[]
  readonly sysfs?: AmdSysfs
  readonly createRun?: (program: string) => RunSmi
  readonly now?: () => number
  /** Time that figures and later checks wait for driver and tool. */
  readonly waitMs?: number
}

/** GPUs of AMD, with what a request for them needs. */
export interface AmdFinder extends GpuFinder {
  /** The GPU as found by the last look; undefined if it was not found. */
  deviceOf(uuid: string): AmdDevice | undefined
}

/** Last answers of the tool. */
interface ToolLook {
  readonly rows: readonly AmdRow[]
  readonly health: ReadonlyMap<string, AmdHealth>
  /** The tool does not answer: the driver hangs. */
  readonly silence: Because | null
  /** The tool fails: nothing is known about the health of GPUs. */
  readonly failure: Because | null
}

const NOTHING: ToolLook = { rows: [], health: new Map(), silence: null, failure: null }

/**
 * Finds GPUs by the files of the driver amdgpu, and asks amd-smi (or rocm-smi) for their names and their health. Without the driver there
 * are no devices; without a tool they have the names of the driver. A GPU that disappears stays in the list with a problem: sessions may
 * hold it.
 */
export function createAmdGpus({
  shared = new Set(),
  programs = PROGRAMS,
  sysfs = createAmdSysfs(),
  createRun = program => createSmi(program, { texts: textsOf(program) }),
  now = () => performance.now(),
  waitMs = WAIT_MS,
}: AmdOptions = {}): AmdFinder {
  const tools = programs.map(program => ({ isOld: program.endsWith('rocm-smi'), run: createRun(program) }))
  const known = new Map<string, { readonly gpu: FoundGpu; readonly device: AmdDevice }>()
  let here: ReadonlyMap<string, AmdDevice> = new Map()
  let last = NOTHING
  let slow: ReadonlyMap<string, number> = new Map()
  let lookedAt = -Infinity
  let lookedFor = ''
  let looking: Promise<void> | undefined
  let reading: { readonly since: number; readonly done: Promise<readonly DeviceFigures[]> } | undefined

  /** Asks the first tool that is installed. */
  async function ask(signal: AbortSignal): Promise<ToolLook> {
    for (const { isOld, run } of tools) {
      const first = isOld
        ? await run(signal, '--showproductname', '--showbus', '--showmeminfo', 'vram', '--json')
        : await run(signal, 'list', '--json')
      if (first.isMissing) continue
      if (first.failure) return failed(first)
      if (isOld) return { ...NOTHING, rows: parseRocmSmi(first.text) }
      const details = await run(signal, 'static', '--asic', '--bus', '--vram', '--json')
      const metric = await run(signal, 'metric', '--ecc', '--power', '--json')
      const pages = await run(signal, 'bad-pages', '--pending', '--json')
      const texts = { list: first.text, details: details.text, metric: metric.text, pages: pages.text }
      // GPUs without such memory make the query for bad pages fail.
      const bad = [details, metric].find(({ failure }) => failure !== null)
      return { ...(bad ? failed(bad) : NOTHING), rows: parseAmdSmi(texts), health: parseAmdHealth(texts) }
    }
    return NOTHING
  }

  function failed({ failure, isSilent }: SmiOutput): ToolLook {
    // A failure does not undo the last answers.
    return { ...last, silence: isSilent ? failure : null, failure: isSilent ? null : failure }
  }

  async function look(signal: AbortSignal): Promise<void> {
    last = await ask(signal)
    const throttled = [...last.health].filter(([, { isThrottled }]) => isThrottled)
    slow = new Map(throttled.map(([bus]) => [bus, (slow.get(bus) ?? 0) + 1]))
  }

  /** Begins a look if one is due, and waits for it. */
  async function lookIfDue(devices: readonly AmdDevice[], signal: AbortSignal): Promise<void> {
    const key = devices.map(({ bus }) => bus).join()
    const isFirst = lookedAt === -Infinity
    if (!looking && (now() - lookedAt >= LOOK_EVERY_MS || key !== lookedFor)) {
      lookedAt = now()
      lookedFor = key
      looking = look(signal).finally(() => (looking = undefined))
      looking.catch(() => undefined)
    }
    const late = () => new Error('the look at the GPUs of AMD is late')
    if (looking) await within(isFirst ? FIRST_WAIT_MS : waitMs, looking, late).catch(() => undefined)
    signal.throwIfAborted()
  }

  function toGpu(uuid: string, { bus, product, memBytes, kfd, render }: AmdDevice): FoundGpu {
    const row = last.rows.find(one => one.bus === bus)
    const health = last.health.get(bus) ?? {}
    const problem =
      driverSilence() ??
      last.silence ??
      (kfd === undefined || render === undefined
        ? because('amd_not_in_kfd')
        : row?.isPartitioned
          ? because('amd_partitioned', { bus })
          : (health.uncorrectable ?? 0) > 0
            ? because('amd_ecc_errors', { count: health.uncorrectable ?? 0, bus })
            : health.hasPendingPages
              ? because('amd_pages_pending', { bus })
              : null)
    return {
      uuid,
      model: row?.model ?? product ?? 'AMD GPU',
      memBytes: row?.memBytes ?? memBytes,
      mode: shared.has('all') || shared.has(uuid) ? 'shared' : 'whole',
      sharedBecause: null,
      problem,
      warning: last.failure ?? ((slow.get(bus) ?? 0) >= SLOW_LOOKS ? because('gpu_slow') : null),
    }
  }

  /** Figures of one GPU after the other, and never read twice at a time: see `AmdSysfs.use`. */
  async function readOneByOne(): Promise<readonly DeviceFigures[]> {
    const found: DeviceFigures[] = []
    for (const [uuid, { bus }] of here) found.push({ uuid, ...(await sysfs.use(bus)) })
    return found
  }

  /** Figures of all GPUs; none while the driver does not answer. */
  async function readFigures(): Promise<readonly DeviceFigures[]> {
    if (!reading) {
      const since = now()
      const done = readOneByOne().finally(() => (reading = undefined))
      reading = { since, done }
    }
    const late = () => new Error('the driver of AMD does not answer')
    return await within(waitMs, reading.done, late).catch(() => [])
  }

  const driverSilence = () =>
    reading && now() - reading.since >= SILENT_MS
      ? because('amd_smi_silent', { program: 'amdgpu', seconds: SILENT_MS / 1000 })
      : null

  return {
    name: 'amd',
    async probe(signal) {
      const devices = (await sysfs.list()).filter(({ memBytes }) => memBytes >= LEAST_MEMORY)
      if (devices.length === 0 && known.size === 0) return { gpus: [], figures: [] }
      await lookIfDue(devices, signal)
      here = new Map(named(devices))
      const gpus = [...here].map(([uuid, device]) => toGpu(uuid, device))
      const gone = [...known].filter(([uuid]) => !here.has(uuid))
      const lost = gone.map(([, { gpu }]) => ({ ...gpu, problem: because('amd_gpu_gone') }))
      for (const gpu of gpus) {
        const device = here.get(gpu.uuid)
        if (device) known.set(gpu.uuid, { gpu, device })
      }
      return { gpus: [...gpus, ...lost], figures: await readFigures() }
    },
    figures: readFigures,
    async processes(uuids) {
      const found = await Promise.all(
        uuids.map(async uuid => {
          const kfd = here.get(uuid)?.kfd
          const memory = kfd === undefined ? undefined : await sysfs.processes(kfd)
          if (!memory) return []
          const list = [...memory].map(([pid, memBytes]): GpuProcess => ({ pid, memBytes, utilization: null }))
          return [[uuid, list] as const]
        }),
      )
      return new Map(found.flat())
    },
    deviceOf: uuid => here.get(uuid),
    async [Symbol.asyncDispose]() {
      await looking?.catch(() => undefined)
    },
  }
}

/** UUIDs of AMD's GPUs begin so. */
export const isAmdGpu = (uuid: string): boolean => uuid.startsWith('AMD-')

/** The number of the chip names a GPU wherever it is plugged in. A GPU that has none, or not for itself alone, is named by its address. */
function named(devices: readonly AmdDevice[]): (readonly [uuid: string, AmdDevice])[] {
  const counts = Map.groupBy(devices, ({ uniqueId }) => uniqueId)
  return devices.map(device => {
    const { uniqueId, bus } = device
    const isUnique = uniqueId !== undefined && counts.get(uniqueId)?.length === 1
    return [`AMD-${isUnique ? uniqueId : bus}`, device] as const
  })
}

function textsOf(path: string) {
  const program = path.slice(path.lastIndexOf('/') + 1)
  return {
    silent: (seconds: number) => because('amd_smi_silent', { program, seconds }),
    fails: (text: string) => because('amd_smi_fails', { program, text }),
  }
}
