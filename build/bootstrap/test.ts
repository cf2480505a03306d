import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join, relative } from 'node:path'
import { dataDirectory } from '../../cli/config/directories.ts'
import { engineStep, imageSteps } from './build-images.ts'
import { DEFAULT_SOCKET } from './engine-client.ts'
import { ROOT, toolboxReference } from './image-recipes.ts'
import { readPlatform } from './platform.ts'
import { describeFailure } from './prepare.ts'
import { type ProcessorTime } from './process-table.ts'
import { startSpeedometer } from './processor-speed.ts'
import { startMeter } from './processor-time.ts'
import { createProgress, StepError } from './progress.ts'
import { ensureRenderer } from './renderer.ts'
import { listenForStop } from './stop-signal.ts'
import { filesToRunAgain, withSecondRun } from './test-again.ts'
import {
  type Budget,
  describeBudget,
  keptBudget,
  NO_BUDGET,
  overBudget,
  runOverBudget,
  type Spent,
} from './test-budget.ts'
import { describeCoverage, readCoverage } from './test-coverage.ts'
import { parseTestFlags, type Part, scheduleOf, type TestFlags } from './test-parts.ts'
import { ensureTestElectron, NoTestElectron } from './test-electron.ts'
import { startTestPostgres } from './test-postgres.ts'
import {
  addCounts,
  countTests,
  describeCounts,
  describeDurations,
  describeUnsteady,
  type Durations,
  durationsOf,
  isTooUnsteady,
  NO_TESTS,
  processorSecondsOf,
} from './test-report.ts'
import { COVERED, coverageFolder, type Outcome, OUTPUT, outputOf, runPart } from './test-run.ts'
import { setFor, type TestSet, withTestSet } from './test-sets.ts'
import { planSince } from './test-since.ts'
import { ensureTestTools } from './test-tools.ts'
import { describeVersions, readVersions, type Versions } from './test-versions.ts'

const say = (text: string) => process.stdout.write(text)
const DURATIONS = join(ROOT, 'test', 'durations.json')
const BUDGET = join(ROOT, 'test', 'processor-seconds.json')
const VERSIONS = join(ROOT, 'test', 'versions.json')
/** Tests that failed and then passed alone in the last run: the next thing to mend. */
const UNSTEADY = join(ROOT, 'test', 'unsteady.md')
const platform = readPlatform()
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  // A test that runs `node` must get the pinned one.
  PATH: [join(ROOT, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter),
}

/**
 * Prepares everything that integration, engine, console, e2e and desktop tests need.
 *
 * @returns why the desktop tests cannot run on this machine; undefined if they can
 */
async function prepareMachine(needed: readonly Part[], set: TestSet, signal: AbortSignal): Promise<string | undefined> {
  const { isTTY: terminal, columns } = process.stdout
  const progress = createProgress({ write: say, terminal, columns })
  await progress.step('Test tools', note => ensureTestTools(platform, set, note, signal))
  const dataDir = dataDirectory()
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const deps = { progress, platform, dataDir, signal }
  const engine = await engineStep(deps)
  await imageSteps(engine, { ...deps, tests: true })
  await progress.step('Console', note => ensureRenderer(note, signal))
  environment.BERTH_TOOLBOX_IMAGE = toolboxReference()
  if (engine.host !== `unix://${DEFAULT_SOCKET}`) environment.DOCKER_HOST = engine.host
  if (!needed.includes('desktop')) return undefined
  let skipped: string | undefined
  await progress.step('Electron of the desktop tests', async note => {
    try {
      return await ensureTestElectron(note, signal)
    } catch (error) {
      if (!(error instanceof NoTestElectron)) throw error
      skipped = error.message
      return `none: ${error.message}`
    }
  })
  return skipped
}

/** Whether a part waits for the preparation; some unit tests look at the built console. */
const needsMachine = (part: Part) => part !== 'typecheck' && part !== 'lint'

interface RunContext {
  /** Resolves when tests with a machine may begin; with the reason why there are no desktop tests. */
  readonly preparing: Promise<string | undefined>
  /** Undefined: whole parts. */
  readonly narrowed: ReadonlyMap<Part, readonly string[]> | undefined
  readonly signal: AbortSignal
}

/** Runs the parts. After a failure that running files again cannot mend, no other is begun, unless told to keep going. */
async function runParts({ parts, keepGoing, coverage }: TestFlags, { preparing, narrowed, signal }: RunContext) {
  const outcomes = new Map<Part, Outcome>()
  const failed = () => !keepGoing && filesToRunAgain(outcomes) === undefined
  const { lanes, either } = scheduleOf(parts)
  const quiet = lanes.length > 1
  if (quiet)
    say(
      `\n▶ ${lanes.map(lane => lane.join(', ')).join(' ∥ ')}${either.length > 0 ? `, then ${either.join(', ')}` : ''}\n`,
    )
  const rest = [...either]
  const runLane = async (lane: readonly Part[]) => {
    const own = [...lane]
    for (let part = own.shift(); part !== undefined; part = own.shift() ?? rest.shift()) {
      signal.throwIfAborted()
      if (failed()) return
      if (needsMachine(part) && (await preparing) !== undefined && part === 'desktop') continue
      if (!quiet) say(`\n▶ ${part}\n`)
      const outcome = await runPart(part, { environment, quiet, coverage, signal, narrowed: narrowed?.get(part) })
      outcomes.set(part, outcome)
      if (quiet) say(`${outcome.code === 0 ? '' : `\n${outputOf(part)}\n`}${lineOf(part, outcome)}\n`)
    }
  }
  await Promise.all(lanes.map(runLane))
  for (const { part, file } of filesToRunAgain(outcomes) ?? []) {
    signal.throwIfAborted()
    say(`\n▶ again, alone: ${relative(ROOT, file)}\n`)
    const again = await runPart(part, { environment, quiet: true, coverage: false, signal, file })
    say(
      `${again.code === 0 ? '✓ passed alone' : `${outputOf(part)}\n✗ failed again`} (${again.seconds.toFixed(1)} s)\n`,
    )
    const first = outcomes.get(part)
    if (again.code !== 0 || first?.report === undefined || again.report === undefined) continue
    const report = withSecondRun(first.report, again.report, file)
    outcomes.set(part, { ...first, report, code: countTests(report).failed === 0 ? 0 : first.code })
  }
  return outcomes
}

function lineOf(part: Part, outcome: Outcome | undefined): string {
  if (outcome === undefined) return `· ${part} (not run)`
  const { code, seconds, processor } = outcome
  return `${code === 0 ? '✓' : '✗'} ${part} (${seconds.toFixed(1)} s; ${describeTime(processor)})`
}

const describeTime = ({ user, system }: ProcessorTime) =>
  `processor: user ${user.toFixed(1)} s, system ${system.toFixed(1)} s`

/** The record in this file; `none` if there is no such file. */
function stored<T>(path: string, none: T): T {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return none
    throw error
  }
}
const storedDurations = () => stored<Durations>(DURATIONS, {})
const storedVersions = () => stored<Versions>(VERSIONS, {})

function writeRecord(path: string, record: Durations | Versions): void {
  const sorted = Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
  writeJson(path, Object.fromEntries(sorted))
}
const writeJson = (path: string, value: unknown) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

/** Processor time of the parts that ran whole. */
function spentBy(outcomes: ReadonlyMap<Part, Outcome>, set: Spent['set'], sliceMs: number): Spent {
  const parts = [...outcomes].map(([part, { processor, report }]) => ({
    part,
    processor,
    files: report === undefined ? {} : processorSecondsOf(report, ROOT),
  }))
  return { set, sliceMs, parts }
}

const stop = listenForStop(say)
try {
  const started = performance.now()
  const given = parseTestFlags(process.argv.slice(2))
  const narrowed = given.since === undefined ? undefined : await planSince(given.since, ROOT)
  const flags = { ...given, parts: given.parts.filter(part => narrowed === undefined || narrowed.has(part)) }
  Object.assign(environment, withTestSet(setFor(flags.set, [...(narrowed?.values() ?? [])].flat())))
  mkdirSync(OUTPUT, { recursive: true })
  rmSync(join(OUTPUT, 'coverage'), { recursive: true, force: true })
  const { parts: wanted } = flags
  const unprepared = new AbortController()
  const signal = AbortSignal.any([stop.signal, unprepared.signal])
  // The preparation runs beside the parts that do not need it. If it fails, they end.
  const preparing = wanted.some(needsMachine) ? prepareMachine(wanted, flags.set, signal) : Promise.resolve(undefined)
  preparing.catch((error: unknown) => unprepared.abort(error))
  await using postgres =
    wanted.includes('integration') || wanted.includes('engine') ? await startTestPostgres(platform.root) : undefined
  if (postgres !== undefined) environment.TEST_DATABASE_URL = postgres.url
  const database = postgres && startMeter(postgres.pid)
  using speedometer = startSpeedometer()
  const outcomes = await runParts(flags, { preparing, narrowed, signal })
  const noDesktop = await preparing
  const parts = noDesktop === undefined ? wanted : wanted.filter(part => part !== 'desktop')
  const versions = await readVersions(environment)
  const reports = [...outcomes.values()].flatMap(({ report }) => report ?? [])
  const counts = reports.map(countTests).reduce(addCounts, NO_TESTS)
  const durations: Durations = Object.assign({}, ...reports.map(report => durationsOf(report, ROOT))) as Durations
  const spent = spentBy(outcomes, flags.set, speedometer.sliceMs())
  const budget = stored<Budget>(BUDGET, NO_BUDGET)
  // Coverage makes a run take longer, and a narrowed run does not run whole parts.
  const isJudged = !flags.coverage && !flags.storeDurations && narrowed === undefined
  const isDear =
    isJudged &&
    (runOverBudget(spent, budget) !== undefined || (flags.enforceBudget && overBudget(spent, budget).length > 0))
  if (isDear || parts.some(part => outcomes.get(part)?.code !== 0) || isTooUnsteady(counts)) process.exitCode = 1
  else if (flags.storeDurations) {
    const all = Object.entries({ ...storedDurations(), ...durations })
    writeRecord(DURATIONS, Object.fromEntries(all.filter(([, seconds]) => seconds >= 1)))
    writeRecord(VERSIONS, versions)
    if (narrowed === undefined) writeJson(BUDGET, keptBudget(spent, budget))
  }
  if (counts.unsteady.length > 0) writeFileSync(UNSTEADY, describeUnsteady(counts, ROOT))
  const minutes = (performance.now() - started) / 60_000
  const lines = [
    ...describeCoverage(readCoverage(COVERED.map(coverageFolder), ROOT)),
    ...describeDurations(durations, storedDurations()),
    ...describeVersions(versions, storedVersions()),
    ...parts.map(part => lineOf(part, outcomes.get(part))),
    ...(noDesktop === undefined ? [] : [`! desktop SKIPPED, no window of the desktop app was tested: ${noDesktop}`]),
    ...(database === undefined ? [] : [`· database of the tests (${describeTime(database.used())})`]),
    `all together, preparation included: ${minutes.toFixed(1)} min`,
    ...(isJudged ? describeBudget(spent, budget) : []),
    ...(reports.length > 0 ? [describeCounts(counts)] : []),
  ]
  say(`\n${lines.join('\n')}\n`)
} catch (error) {
  if (error instanceof StepError || stop.signal.aborted) process.exit(describeFailure(error, stop.signal, say))
  say(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}
