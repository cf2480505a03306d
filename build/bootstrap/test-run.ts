import { spawn } from 'node:child_process'
import { createWriteStream, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import { ROOT } from './image-recipes.ts'
import { isVitest, type Part } from './test-parts.ts'
import { type VitestReport } from './test-report.ts'

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
}

export interface Outcome {
  readonly code: number
  readonly seconds: number
  /** Undefined for a part without tests, and if the part ended before it could write a report. */
  readonly report: VitestReport | undefined
}

/** Runs one part of `npm test` to its end. */
export async function runPart(part: Part, { environment, quiet, coverage, signal }: RunOptions): Promise<Outcome> {
  const started = performance.now()
  rmSync(reportFile(part), { force: true })
  const [command, args] = commandOf(part, coverage)
  const child = spawn(command, args, {
    cwd: ROOT,
    env: quiet ? { ...environment, FORCE_COLOR: '0' } : environment,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    shell: process.platform === 'win32',
  })
  const onAbort = () => child.kill('SIGTERM')
  signal.addEventListener('abort', onAbort, { once: true })
  const exited = new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, name) => {
      resolve(name === null ? (code ?? 1) : 1)
    })
  })
  try {
    if (child.stdout && child.stderr) {
      const log = createWriteStream(logFile(part))
      child.stdout.pipe(log, { end: false })
      child.stderr.pipe(log, { end: false })
      await Promise.all([exited, finished(child.stdout), finished(child.stderr)])
      log.end()
      await finished(log)
    }
    const code = await exited
    return { code, seconds: (performance.now() - started) / 1000, report: readReport(part) }
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
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

/** Parts that `--coverage` lets write `coverage-final.json` below `coverageFolder`: the code that their tests execute in their own processes. */
export const COVERED: readonly Part[] = ['unit', 'integration']

/** Duration of `fuzz` in `npm test`: enough to run over each target. `npm run fuzz` alone continues for 100,000 inputs. */
const FUZZ_SECONDS = '20'

export function coverageFolder(part: Part): string {
  return join(OUTPUT, 'coverage', part)
}

function commandOf(part: Part, covered: boolean): [command: string, args: string[]] {
  if (part === 'fuzz') return ['npm', ['run', '--silent', part, '--', '--seconds', FUZZ_SECONDS]]
  if (!isVitest(part)) return ['npm', ['run', '--silent', part]]
  const vitest = [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--project', part]
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${reportFile(part)}`]
  const coverage =
    covered && COVERED.includes(part)
      ? ['--coverage', '--coverage.reporter=json', `--coverage.reportsDirectory=${coverageFolder(part)}`]
      : []
  return [process.execPath, [...vitest, ...reporters, ...coverage]]
}

function readReport(part: Part): VitestReport | undefined {
  if (!isVitest(part)) return undefined
  try {
    return JSON.parse(readFileSync(reportFile(part), 'utf8')) as VitestReport
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
