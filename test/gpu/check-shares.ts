import { type Check, GiB, gibText, launch, MiB, percentText, waits } from './check.ts'
import { groupsOf, processRecords } from './driver.ts'
import { type GpuFigures } from './own-berth.ts'
import { saw, type Seen, until } from './table.ts'
import { BEYOND_SHARE, follow, MANAGED, type Work, type Working } from './work.ts'

export const SHARE_A = 'gpu-share-a'
export const SHARE_B = 'gpu-share-b'
const PART_A = 0.25
const PART_B = 0.5
/** Memory that the programs take; the driver takes some more for each of them. */
const GIB_A = 10
const GIB_B = 18
const DRIVERS_OWN = 1.5 * GiB
const MANAGED_MIB = 4096
const PROGRAMS_WITHIN_MS = 110_000

/** Sets the mode, and waits until the class of its limits is known. */
export async function setMode({ berth, gpu }: Check, signal: AbortSignal, mode: 'whole' | 'shared'): Promise<Seen> {
  await berth.run(signal, 'admin', 'agent', 'device', 'mode', 'gpu-check', gpu.uuid, mode)
  return await until(
    async () => {
      const device = (await berth.devices(signal)).find(({ uuid }) => uuid === gpu.uuid)
      const isKnown = !/not reported yet|being tested/.test(device?.isolationReason ?? '')
      return saw(
        device?.mode === mode && isKnown,
        `${device?.mode}, ${device?.isolation}: ${device?.isolationReason ?? '–'}`,
      )
    },
    signal,
    30,
  )
}

/** Two sessions on one GPU. @returns the class of the limits, undefined if the sessions do not run */
export async function checkShares(check: Check, work: Work): Promise<string | undefined> {
  const { table, berth, gpu } = check
  await table.row('mode shared', 'the class of its limits, with the reason', 60, signal =>
    setMode(check, signal, 'shared'),
  )
  const ran = await table.row(`shares ${PART_A} and ${PART_B} at once`, 'both RUNNING', 90, async signal => {
    const both = await Promise.all([
      launch(check, signal, SHARE_A, '--gpu-shares', String(PART_A)),
      launch(check, signal, SHARE_B, '--gpu-shares', String(PART_B)),
    ])
    return saw(
      both.every(({ ok }) => ok),
      both.map(({ seen }) => seen).join(' '),
    )
  })
  await table.row('third share of 0.5', 'waits; the reason names the GPU', 30, signal =>
    waits(check, signal, 'gpu-share-c', '--gpu-shares', '0.5'),
  )
  if (!ran) return undefined
  await checkVariables(check, work)
  await checkFigures(check, work)
  await checkManaged(check, work)
  return (await berth.devices(AbortSignal.timeout(10_000))).find(({ uuid }) => uuid === gpu.uuid)?.isolation
}

async function checkVariables({ table, berth, gpu }: Check, work: Work): Promise<void> {
  const mebibytes = Math.floor(gpu.totalMib * PART_A)
  const wanted = {
    BERTH_GPU_SHARE: String(PART_A),
    BERTH_GPU_MEMORY_MIB: String(mebibytes),
    PYTORCH_ALLOC_CONF: `per_process_memory_fraction:${PART_A}`,
    CUPY_GPU_MEMORY_LIMIT: '25%',
    XLA_PYTHON_CLIENT_MEM_FRACTION: '0.225',
    TF_FORCE_GPU_ALLOW_GROWTH: 'true',
  }
  await table.row(
    'variables of a share',
    `share ${PART_A}, ${mebibytes} MiB, settings of four frameworks`,
    15,
    async signal => {
      const lines = new Set((await berth.inside(signal, SHARE_A, 'env')).split('\n'))
      const missing = Object.entries(wanted).filter(([name, value]) => !lines.has(`${name}=${value}`))
      const found = [...lines].filter(line => Object.hasOwn(wanted, line.split('=')[0] ?? ''))
      return saw(missing.length === 0, found.join(', '))
    },
  )
  await table.row('PyTorch told its share', 'half allowed, 1.2 times refused', 60, async signal => {
    work.needsPyTorch()
    const text = await berth.inside(signal, SHARE_A, work.python, '-c', BEYOND_SHARE, String(mebibytes))
    return saw(/half of the share: allowed[^]*1.2 times the share: refused/.test(text), text)
  })
}

const figuresText = (name: string, figures: Pick<GpuFigures, 'memBytes' | 'utilization'> | undefined) =>
  `${name} ${gibText(figures?.memBytes)}, ${percentText(figures?.utilization)}`

const isAbout = (bytes: number | null | undefined, gibibytes: number) =>
  (bytes ?? 0) >= gibibytes * GiB && (bytes ?? 0) <= gibibytes * GiB + DRIVERS_OWN

/** Figures of each session, while both work and while one is idle, against the driver's own list of processes. */
async function checkFigures(check: Check, work: Work): Promise<void> {
  const { table, berth, driver, gpu } = check
  const figures = (signal: AbortSignal) =>
    Promise.all([berth.figures(signal, SHARE_A), berth.figures(signal, SHARE_B)] as const)
  const all = (a: GpuFigures | undefined, b: GpuFigures | undefined) =>
    `${figuresText('A', a)}; ${figuresText('B', b)}; ${figuresText('device', a?.device)}`

  await withPrograms(check, work, 'both at work', { a: true, b: true }, async () => {
    await table.row('memory of each', `A ${GIB_A} GiB, B ${GIB_B} GiB, the device both`, 20, signal =>
      until(
        async () => {
          const [a, b] = await figures(signal)
          const sum = (a?.memBytes ?? 0) + (b?.memBytes ?? 0)
          const isEach = isAbout(a?.memBytes, GIB_A) && isAbout(b?.memBytes, GIB_B)
          return saw(isEach && (a?.device.memBytes ?? 0) >= sum, all(a, b))
        },
        signal,
        10,
      ),
    )
    await table.row('use of each', 'known; together that of the device', 20, signal =>
      until(
        async () => {
          const [a, b] = await figures(signal)
          const [ofA, ofB] = [a?.utilization ?? 0, b?.utilization ?? 0]
          const isEach = ofA >= work.leastPercent / 2 && ofB >= work.leastPercent / 2
          return saw(isEach && ofA + ofB <= 110 && (a?.device.utilization ?? 0) >= work.leastPercent, all(a, b))
        },
        signal,
        12,
      ),
    )
    await table.row('processes of the driver', 'one in the container of each session', 15, async signal => {
      const apps = [...(await driver.computeApps(signal))]
      const found = await Promise.all(
        [SHARE_A, SHARE_B].map(async name => {
          const container = (await berth.session(signal, name)).kernels[0]?.containerId ?? 'none'
          const groups = await Promise.all(apps.map(([pid]) => groupsOf(pid)))
          return apps.filter((_, index) => groups[index]?.includes(container)).map(([, used]) => used)
        }),
      )
      return saw(
        found.every(list => list.length === 1),
        found.map(list => `${list.join('+') || 'none'} MiB`).join(', '),
      )
    })
    await driver.record('two sessions at work on one shared GPU', processRecords(gpu.uuid), AbortSignal.timeout(20_000))
    await driver.record('the same a second later', processRecords(gpu.uuid), AbortSignal.timeout(20_000))
  })
  await withPrograms(check, work, 'A at work, B idle', { a: true, b: false }, async () => {
    await table.row('use of each, B idle', 'A that of the device, B 0 %', 25, signal =>
      until(
        async () => {
          const [a, b] = await figures(signal)
          const ok = (a?.utilization ?? 0) >= work.leastPercent && b?.utilization === 0 && isAbout(b.memBytes, GIB_B)
          return saw(ok, all(a, b))
        },
        signal,
        12,
      ),
    )
    await driver.record('A works, B holds memory and is idle', processRecords(gpu.uuid), AbortSignal.timeout(20_000))
  })
}

/** Runs one program in each session meanwhile. @param computes false for a program that only holds its memory */
async function withPrograms(
  { table, berth }: Check,
  work: Work,
  what: string,
  computes: { readonly a: boolean; readonly b: boolean },
  look: () => Promise<void>,
): Promise<void> {
  const running = AbortSignal.timeout(PROGRAMS_WITHIN_MS)
  let programs: readonly Working[] = []
  const begun = await table.row(what, `programs with ${GIB_A} and ${GIB_B} GiB run (${work.by})`, 50, async () => {
    programs = [
      work.start(berth, SHARE_A, { gibibytes: GIB_A, computes: computes.a }, running),
      work.start(berth, SHARE_B, { gibibytes: GIB_B, computes: computes.b }, running),
    ]
    await Promise.all(programs.map(program => program.begun))
    return saw(true, 'they run')
  })
  if (begun) await look()
  for (const program of programs) program.stop()
  if (begun) {
    await table.row(`${what}: end`, 'programs end', 20, async () => {
      const said = await Promise.all(programs.map(program => program.ended))
      return saw(
        said.every(text => text.endsWith('done')),
        said.join('; '),
      )
    })
  }
}

/** Managed memory: the driver counts it for the device and for no process. */
async function checkManaged({ table, berth, driver, gpu }: Check, work: Work): Promise<void> {
  await table.row(
    `${MANAGED_MIB} MiB of managed memory in A`,
    'in the figure of the device, not in that of A',
    60,
    async signal => {
      work.needsDriver()
      const command = [work.python, '-c', MANAGED, String(MANAGED_MIB)]
      const program = follow(berth.start('exec', SHARE_A, '--', ...command), signal)
      await program.begun
      await driver.record('managed memory', processRecords(gpu.uuid), signal)
      const seen = await until(
        async () => {
          const figures = await berth.figures(signal, SHARE_A)
          const device = (figures?.device.memBytes ?? 0) - gpu.restMib * MiB
          return saw(
            device >= MANAGED_MIB * MiB && isAbout(figures?.memBytes, 0),
            `${figuresText('A', figures)}; device ${gibText(device)} more`,
          )
        },
        signal,
        10,
      )
      program.stop()
      await program.ended
      return seen
    },
  )
}
