import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { dataDirectory } from '../../cli/config/directories.ts'
import { hasDisplay } from '../../cli/up/browser.ts'
import { ROOT } from './image-recipes.ts'
import { readPlatform } from './platform.ts'
import { describeFailure, prepare } from './prepare.ts'
import { createProgress } from './progress.ts'
import { runBerth } from './run-berth.ts'
import { checkPort } from './start-port.ts'
import { parseStartFlags } from './start-flags.ts'
import { listenForStop } from './stop-signal.ts'

// Standard output belongs to `berth up --json`.
const say = (text: string) => process.stderr.write(text)
const { docker, data, rest, window, ...named } = parseStartFlags(process.argv.slice(2))
const platform = readPlatform()
const dataDir = data ?? dataDirectory()

const stop = listenForStop(say)
try {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  await checkPort(dataDir, named)
  const { isTTY: terminal, columns } = process.stderr
  const progress = createProgress({ write: say, terminal, columns })
  // As root Chromium refuses to run with its sandbox, and Berth never runs it without.
  const desktop = window && !platform.root && hasDisplay()
  const environment = await prepare({ progress, platform, dataDir, signal: stop.signal, docker, desktop, say })
  stop.signal.throwIfAborted()
  stop[Symbol.dispose]()
  process.exitCode = await runBerth(join(ROOT, 'bin', 'berth'), ['up', ...rest], environment)
} catch (error) {
  process.exit(describeFailure(error, stop.signal, say))
}
