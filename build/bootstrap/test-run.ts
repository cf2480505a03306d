import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './image-recipes.ts'
import { type Ended, runFollowed } from './run-followed.ts'
import { CANCEL_SIGNAL, RUN_REPORT_FILE, type RunReport } from './run-reporter.ts'
import { isVitest, type Part } from './test-parts.ts'
import { type VitestReport } from './test-report.ts'

const BOOTSTRAP = join(ROOT, 'build', 'bootstrap')
/** Reports, coverage and the output of parts that ran concurrently; not in the repository. */
export const OUTPUT = join(ROOT, 'test', 'output')

export interface RunOptions {
  readonly environment: NodeJS.ProcessEnv
  /** True: the output goes to `OUTPUT/<part>.log`, because another part prints at the same time. */
  readonly quiet: boolean
  /** True: parts of `COVERED` write what their tests execute. It costs them about a fifth of their time. */
  readonly coverage: boolean
  /** Ends the part. */
  readonly signal: AbortSignal
  /** Absolute path of the only test file to run, once more; undefined runs all of the part. */
  readonly file?: string | undefined
  /** Paths from `planOf` for this part; undefined runs all of it. */
  readonly narrowed?: readonly string[] | undefined
}

/** The processor time leaves out the database of the tests, and containers. */
export interface Outcome extends Ended {
  /** Undefined for a part without tests, and if the part ended before it could write a report. */
  readonly report: VitestReport | undefined
}

/**
 * The native compiler, and the linter that uses it, are written in Go and live for one pass over the sources: with its default, Go's garbage
 * collector takes an eighth of the processor seconds of the compiler. Above the limit of memory it collects as often as it would without this.
 */
const RARE_COLLECTIONS: NodeJS.ProcessEnv = { GOGC: '400', GOMEMLIMIT: '3GiB' }

/** Runs one part of `npm test` to its end. */
export async function runPart(part: Part, options: RunOptions): Promise<Outcome> {
  const { environment, quiet, coverage, signal, file, narrowed } = options
  for (const path of [reportFile(part), runReportFile(part)]) rmSync(path, { force: true })
  const [command, args] = commandOf(part, coverage, file === undefined ? narrowed : [file])
  const env = {
    ...(isVitest(part) ? {} : RARE_COLLECTIONS),
    ...environment,
    ...(quiet ? { FORCE_COLOR: '0' } : {}),
    [RUN_REPORT_FILE]: runReportFile(part),
  }
  // A file that runs again adds its output to that of its part.
  const log = quiet ? { path: logFile(part), append: file !== undefined } : undefined
  const cancelBy = isVitest(part) ? CANCEL_SIGNAL : undefined
  const ended = await runFollowed({ command, args, cwd: ROOT, env, log, cancelBy }, signal)
  return { ...ended, report: readReport(part) }
}

/** Output of a quiet part. */
export function outputOf(part: Part): string {
  return readFileSync(logFile(part), 'utf8')
}

function logFile(part: Part): string {
  return join(OUTPUT, `${part}.log`)
}

function reportFile(part: Part): string {
  return join(OUTPUT, `${part}.json`)
}

function runReportFile(part: Part): string {
  return join(OUTPUT, `${part}.run.json`)
}

/** Parts that `--coverage` lets write `coverage-final.json` below `coverageFolder`: the code that their tests execute in their own processes. */
export const COVERED: readonly Part[] = ['unit', 'integration']

/** Duration of `fuzz` in `npm test`: enough to run over each target. `npm run fuzz` alone continues for 100,000 inputs. */
const FUZZ_SECONDS = '20'

export function coverageFolder(part: Part): string {
  return join(OUTPUT, 'coverage', part)
}

function commandOf(
  part: Part,
  covered: boolean,
  narrowed: readonly string[] | undefined,
): [command: string, args: readonly string[]] {
  if (part === 'fuzz') return ['npm', ['run', '--silent', part, '--', '--seconds', FUZZ_SECONDS]]
  if (part === 'lint' && narrowed) return [process.execPath, [join(BOOTSTRAP, 'lint-files.ts'), ...narrowed]]
  if (!isVitest(part)) return ['npm', ['run', '--silent', part]]
  const reporters = [
    ...['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile(part)}`],
    `--reporter=${join(BOOTSTRAP, 'run-reporter.ts')}`,
  ]
  const coverage =
    covered && COVERED.includes(part)
      ? ['--coverage', '--coverage.reporter=json', `--coverage.reportsDirectory=${coverageFolder(part)}`]
      : []
  // Unit tests are found by what they import, and may be none; a test itself is found in the same way.
  const what =
    part === 'unit' && narrowed ? ['related', ...narrowed, '--run', '--passWithNoTests'] : ['run', ...(narrowed ?? [])]
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs')
  return [process.execPath, [vitest, ...what, '--project', part, ...reporters, ...coverage]]
}

function readReport(part: Part): VitestReport | undefined {
  if (!isVitest(part)) return undefined
  const report = readJson(reportFile(part)) as VitestReport | undefined
  const more = readJson(runReportFile(part)) as RunReport | undefined
  return report && { ...report, ...more }
}

/** @returns undefined if the file does not exist */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
