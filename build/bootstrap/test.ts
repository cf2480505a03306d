import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { dataDirectory } from '../../cli/config/directories.ts'
import { engineStep, imageSteps } from './build-images.ts'
import { DEFAULT_SOCKET } from './engine-client.ts'
import { ROOT, toolboxReference } from './image-recipes.ts'
import { readPlatform } from './platform.ts'
import { describeFailure } from './prepare.ts'
import { createProgress, StepError } from './progress.ts'
import { ensureRenderer } from './renderer.ts'
import { listenForStop } from './stop-signal.ts'
import { describeCoverage, readCoverage } from './test-coverage.ts'
import { parseTestFlags, type Part, scheduleOf, type TestFlags } from './test-parts.ts'
import { ensureTestElectron, NoTestElectron } from './test-electron.ts'
import { startTestPostgres } from './test-postgres.ts'
import {
  addCounts,
  countTests,
  describeCounts,
  describeDurations,
  type Durations,
  durationsOf,
  isTooUnsteady,
  NO_TESTS,
} from './test-report.ts'
import { COVERED, coverageFolder, type Outcome, OUTPUT, outputOf, runPart } from './test-run.ts'
import { ensureTestTools } from './test-tools.ts'

const say = (text: string) => process.stdout.write(text)
const DURATIONS = join(ROOT, 'test', 'durations.json')
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
async function prepareMachine(needed: readonly Part[], signal: AbortSignal): Promise<string | undefined> {
  const { isTTY: terminal, columns } = process.stdout
  const progress = createProgress({ write: say, terminal, columns })
  await progress.step('Test tools', note => ensureTestTools(platform, note, signal))
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

/** Runs the parts. After the first that fails no other is begun, unless told to keep going. */
async function runParts(
  { parts, keepGoing, coverage }: TestFlags,
  { preparing, signal }: { readonly preparing: Promise<string | undefined>; readonly signal: AbortSignal },
) {
  const outcomes = new Map<Part, Outcome>()
  const failed = () => !keepGoing && [...outcomes.values()].some(({ code }) => code !== 0)
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
      const outcome = await runPart(part, { environment, quiet, coverage, signal })
      outcomes.set(part, outcome)
      if (quiet) say(`${outcome.code === 0 ? '' : `\n${outputOf(part)}\n`}${lineOf(part, outcome)}\n`)
    }
  }
  await Promise.all(lanes.map(runLane))
  return outcomes
}

function lineOf(part: Part, outcome: Outcome | undefined): string {
  if (outcome === undefined) return `· ${part} (not run)`
  return `${outcome.code === 0 ? '✓' : '✗'} ${part} (${outcome.seconds.toFixed(1)} s)`
}

function storedDurations(): Durations {
  try {
    return JSON.parse(readFileSync(DURATIONS, 'utf8')) as Durations
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

const stop = listenForStop(say)
try {
  const started = performance.now()
  const flags = parseTestFlags(process.argv.slice(2))
  mkdirSync(OUTPUT, { recursive: true })
  rmSync(join(OUTPUT, 'coverage'), { recursive: true, force: true })
  const { parts: wanted } = flags
  const unprepared = new AbortController()
  const signal = AbortSignal.any([stop.signal, unprepared.signal])
  // Beside the parts that need nothing. If it fails, they end.
  const preparing = wanted.some(needsMachine) ? prepareMachine(wanted, signal) : Promise.resolve(undefined)
  preparing.catch((error: unknown) => unprepared.abort(error))
  await using postgres =
    wanted.includes('integration') || wanted.includes('engine') ? await startTestPostgres(platform.root) : undefined
  if (postgres !== undefined) environment.TEST_DATABASE_URL = postgres.url
  const outcomes = await runParts(flags, { preparing, signal })
  const noDesktop = await preparing
  const parts = noDesktop === undefined ? wanted : wanted.filter(part => part !== 'desktop')
  const reports = [...outcomes.values()].flatMap(({ report }) => report ?? [])
  const counts = reports.map(countTests).reduce(addCounts, NO_TESTS)
  const durations: Durations = Object.assign({}, ...reports.map(report => durationsOf(report, ROOT))) as Durations
  if (parts.some(part => outcomes.get(part)?.code !== 0) || isTooUnsteady(counts)) process.exitCode = 1
  else if (flags.storeDurations) {
    const sorted = Object.entries({ ...storedDurations(), ...durations })
      .filter(([, seconds]) => seconds >= 1)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    writeFileSync(DURATIONS, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
  }
  const minutes = (performance.now() - started) / 60_000
  const lines = [
    ...describeCoverage(readCoverage(COVERED.map(coverageFolder), ROOT)),
    ...describeDurations(durations, storedDurations()),
    ...parts.map(part => lineOf(part, outcomes.get(part))),
    ...(noDesktop === undefined ? [] : [`! desktop SKIPPED, no window of the desktop app was tested: ${noDesktop}`]),
    `all together, preparation included: ${minutes.toFixed(1)} min`,
    ...(reports.length > 0 ? [describeCounts(counts)] : []),
  ]
  say(`\n${lines.join('\n')}\n`)
} catch (error) {
  if (error instanceof StepError || stop.signal.aborted) process.exit(describeFailure(error, stop.signal, say))
  say(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}
