import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createServer } from 'vite'
import { dataDirectory } from '../../cli/config/directories.ts'
import { ROOT } from './image-recipes.ts'
import { readPlatform } from './platform.ts'
import { describeFailure, prepare } from './prepare.ts'
import { createProgress } from './progress.ts'
import { parseStartFlags } from './start-flags.ts'
import { listenForStop } from './stop-signal.ts'

const say = (text: string) => process.stderr.write(text)
const { docker, data, rest } = parseStartFlags(process.argv.slice(2))
const platform = readPlatform()
const dataDir = data ?? dataDirectory()

const stop = listenForStop(say)
try {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const { isTTY: terminal, columns } = process.stderr
  const progress = createProgress({ write: say, terminal, columns })
  const environment = await prepare({ progress, platform, dataDir, signal: stop.signal, docker, renderer: false, say })
  stop.signal.throwIfAborted()
  stop[Symbol.dispose]()

  // Listens on loopback (vite.config.ts); the console's own server stays in front of it and keeps its Host and Origin checks.
  const vite = await createServer({
    root: join(ROOT, 'renderer'),
    configFile: join(ROOT, 'vite.config.ts'),
    logLevel: 'warn',
  })
  await vite.listen()
  const url = vite.resolvedUrls?.local[0] ?? ''
  say(`✓ vite: ${url}\n`)

  const child = spawn(process.execPath, [join(ROOT, 'bin', 'berth'), 'up', ...rest], {
    env: { ...process.env, ...environment, BERTH_CONSOLE_DEV_URL: url, BERTH_LAUNCHED: '1' },
    stdio: 'inherit',
  })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      // A terminal sends Ctrl-C to the child as well.
      if (name !== 'SIGINT' || !process.stdin.isTTY) child.kill(name)
    })
  }
  const code = await new Promise<number>(resolve => {
    child.on('exit', exitCode => {
      resolve(exitCode ?? 1)
    })
  })
  await vite.close()
  process.exit(code)
} catch (error) {
  process.exit(describeFailure(error, stop.signal, say))
}
