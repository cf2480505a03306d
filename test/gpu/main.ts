import { copyFile, mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Check, type Gpu } from './check.ts'
import { checkEnd } from './check-end.ts'
import { checkGuard } from './check-guard.ts'
import { checkHost, engineFacts } from './check-host.ts'
import { checkShares } from './check-shares.ts'
import { checkWhole } from './check-whole.ts'
import { ALL_RECORDS, createDriver, type Driver, readModule } from './driver.ts'
import { openEngine } from './engine.ts'
import { createOwnBerth, removeScratch } from './own-berth.ts'
import { makeStandIn } from './stand-in.ts'
import { createTable, markdown, saw, Skipped } from './table.ts'
import { standInWork } from './work.ts'

const HELP = `npm run check:gpu [-- flags]

Tries everything of Berth that concerns GPUs on this machine, which has an NVIDIA GPU that nobody else uses now, and a Docker Engine (DOCKER_HOST)
that hands it out. Root. It starts a Berth of its own and ends everything that it started. It takes three to four minutes. It never changes MIG and
never resets a GPU.

  --report FILE     write the table as Markdown
  --logs DIRECTORY  keep every command with its output (seen.log), raw answers of the driver (driver.log), and the logs of Berth
  --berth DIRECTORY an unpacked server package, instead of this clone
  --image NAME      image of the sessions (default: berth/python:3.13); with PyTorch, programs work on the GPU
  --python PATH     Python of the image that has PyTorch (default: python3)
  --within SECONDS  time for all rows (default: 480)
  --simulated       a stand-in for driver and GPU, on an engine that uses CDI with a folder of its own
`

/** Time kept for the end, whatever came before. */
const END_S = 30

const { values } = parseArgs({
  options: {
    report: { type: 'string' },
    logs: { type: 'string' },
    berth: { type: 'string', default: resolve(import.meta.dirname, '../..') },
    image: { type: 'string', default: 'berth/python:3.13' },
    python: { type: 'string', default: 'python3' },
    within: { type: 'string', default: '480' },
    simulated: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) process.stdout.write(HELP)
else process.exitCode = await runCheck()

async function runCheck(): Promise<number> {
  const begunAt = new Date()
  const interrupt = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupt.abort())
  const whole = AbortSignal.any([interrupt.signal, AbortSignal.timeout((Number(values.within) - END_S) * 1000)])
  const logs = values.logs
  if (logs !== undefined) await mkdir(logs, { recursive: true })
  const logFile = (name: string) => (logs === undefined ? undefined : join(logs, name))
  const table = createTable(whole, logFile('seen.log'))
  const facts: [string, string][] = [['date', begunAt.toISOString()]]
  const scratch = await mkdtemp(join(tmpdir(), 'berth-gpu-check-'))
  try {
    await using stack = new AsyncDisposableStack()
    stack.defer(() => removeScratch(scratch))
    const engine = openEngine()
    const standIn = values.simulated ? stack.use(await makeStandIn(engine, scratch, whole)) : undefined
    const path = standIn?.path ?? process.env.PATH ?? ''
    process.env.PATH = path
    const driver = createDriver('nvidia-smi', logFile('driver.log'))
    const gpu = await findGpu(driver, whole)
    const [name = '', version = ''] = await driver.query(whole, 'name', 'driver_version')
    facts.push(['GPU', `${name}, ${gpu.totalMib} MiB${values.simulated ? ' (simulated)' : ''}`], ['driver', version])
    facts.push(['engine', await engineFacts(engine, whole)])
    table.log(await readModule())
    await driver.record('before', ALL_RECORDS, whole)
    const own = createOwnBerth({ root: resolve(values.berth), scratch, path, probeImage: values.image, table })
    stack.defer(async () => {
      await own.down()
      await keepLogs(own.data, logs)
      const ending = AbortSignal.timeout(15_000)
      const managerId = own.managerId()
      if (managerId !== undefined) await engine.removeAllOf(managerId, ending)
    })
    const isUp = await table.row('berth up', 'its console answers', 120, async signal =>
      saw(true, await own.up(signal)),
    )
    if (isUp) {
      const check = { table, berth: own, engine, driver, image: values.image, gpu }
      await checkAll(check, begunAt)
    }
  } catch (error) {
    if (!(error instanceof Skipped)) throw error
    process.stdout.write(`skipped: ${error.message}\n`)
    return 0
  } finally {
    const text = markdown(facts, table.rows)
    if (values.report !== undefined) await writeFile(values.report, text)
    process.stdout.write(`\n${text}`)
  }
  return table.rows.every(({ outcome }) => outcome !== 'FAIL') ? 0 : 1
}

/** The rows that need a running Berth. */
async function checkAll(check: Check, begunAt: Date): Promise<void> {
  await checkHost(check)
  const work = await checkWhole(check, values.simulated ? standInWork(values.python) : values.python)
  await checkGuard(check, work, await checkShares(check, work))
  await checkEnd(check, begunAt)
}

async function findGpu(driver: Driver, signal: AbortSignal): Promise<Gpu> {
  const [uuid = '', total, used, mig = ''] = await driver.query(
    signal,
    'uuid',
    'memory.total',
    'memory.used',
    'mig.mode.current',
  )
  return { uuid, totalMib: Number(total), restMib: Number(used), mig }
}

async function keepLogs(data: string, to: string | undefined): Promise<void> {
  if (to === undefined) return
  const from = join(data, 'logs')
  for (const name of await readdir(from).catch(() => [])) await copyFile(join(from, name), join(to, name))
  await copyFile(join(data, '../up.log'), join(to, 'up.log')).catch(() => undefined)
}
