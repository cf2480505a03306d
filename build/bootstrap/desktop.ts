import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { ensureDesktopBundle, ensureElectron } from './desktop-app.ts'
import { ROOT } from './image-recipes.ts'
import { describeFailure } from './prepare.ts'
import { createProgress, StepError } from './progress.ts'
import { ensureRenderer } from './renderer.ts'
import { listenForStop } from './stop-signal.ts'

/** Long, because there is no app without Electron, and the user waits for nothing else. */
const FETCH_LIMIT_MS = 900_000

const say = (text: string) => process.stderr.write(text)
const stop = listenForStop(say)
try {
  if (process.getuid?.() === 0)
    throw new StepError(
      'the desktop app does not run as root',
      'Chromium refuses to run as root with its sandbox, and Berth never runs it without. Repeat as an ordinary user.',
    )
  const { isTTY: terminal, columns } = process.stderr
  const progress = createProgress({ write: say, terminal, columns })
  const { signal } = stop
  let program = ''
  await progress.step('Console', note => ensureRenderer(note, signal))
  await progress.step('Desktop app', note => ensureDesktopBundle(note, signal))
  await progress.step('Electron', async note => {
    program = await ensureElectron({ note, signal, limitMs: FETCH_LIMIT_MS, again: true })
    return 'ready'
  })
  stop[Symbol.dispose]()
  const app = spawn(program, [ROOT, ...process.argv.slice(2)], { stdio: 'inherit' })
  const [code] = (await once(app, 'exit')) as [number | null]
  process.exitCode = code ?? 1
} catch (error) {
  if (error instanceof StepError && !stop.signal.aborted) say(`✗ ${error.message}\n`)
  process.exit(describeFailure(error, stop.signal, say))
}
