import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
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
import {
  addCounts,
  countTests,
  type Counts,
  describeCounts,
  isVitest,
  parseTestFlags,
  type Part,
} from './test-parts.ts'
import { startTestPostgres } from './test-postgres.ts'
import { ensureTestTools } from './test-tools.ts'

const say = (text: string) => process.stdout.write(text)
const OUTPUT = join(ROOT, 'test', 'output')
const platform = readPlatform()
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  // Whoever runs `node` in a test means the pinned one.
  PATH: [join(ROOT, 'node_modules', '.bin'), process.env.PATH ?? ''].join(delimiter),
}

/** Everything that integration and e2e tests stand on. */
async function prepareMachine(signal: AbortSignal): Promise<void> {
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
}

function run(part: Part): Promise<number> {
  const report = join(OUTPUT, `${part}.json`)
  rmSync(report, { force: true })
  const vitest = [join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--project', part]
  const [command, args] = isVitest(part)
    ? [process.execPath, [...vitest, '--reporter=default', '--reporter=json', `--outputFile.json=${report}`]]
    : ['npm', ['run', '--silent', part]]
  const child = spawn(command, args, {
    cwd: ROOT,
    env: environment,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      resolve(signal === null ? (code ?? 1) : 1)
    })
  })
}

/** Undefined where there is no report: not a vitest project, or it ended before it could write one. */
function countsOf(part: Part): Counts | undefined {
  try {
    return countTests(
      JSON.parse(readFileSync(join(OUTPUT, `${part}.json`), 'utf8')) as Parameters<typeof countTests>[0],
    )
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const stop = listenForStop(say)
try {
  const { parts, keepGoing } = parseTestFlags(process.argv.slice(2))
  mkdirSync(OUTPUT, { recursive: true })
  if (parts.includes('integration') || parts.includes('e2e')) await prepareMachine(stop.signal)
  await using postgres = parts.includes('integration') ? await startTestPostgres(platform.root) : undefined
  if (postgres !== undefined) environment.TEST_DATABASE_URL = postgres.url
  const lines: string[] = []
  let total: Counts | undefined
  for (const part of parts) {
    stop.signal.throwIfAborted()
    say(`\n▶ ${part}\n`)
    const started = Date.now()
    const code = await run(part)
    lines.push(`${code === 0 ? '✓' : '✗'} ${part} (${((Date.now() - started) / 1000).toFixed(1)} s)`)
    if (code !== 0) process.exitCode = 1
    const counts = isVitest(part) ? countsOf(part) : undefined
    if (counts !== undefined) total = total === undefined ? counts : addCounts(total, counts)
    if (code !== 0 && !keepGoing) {
      lines.push(...parts.slice(parts.indexOf(part) + 1).map(name => `· ${name} (not run)`))
      break
    }
  }
  say(`\n${lines.join('\n')}\n${total === undefined ? '' : `${describeCounts(total)}\n`}`)
} catch (error) {
  if (error instanceof StepError || stop.signal.aborted) process.exit(describeFailure(error, stop.signal, say))
  say(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(2)
}
