import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { openDesktop, startPlainApp } from '../desktop/open-app.ts'
import { startConsoleDouble } from '../e2e/console-double.ts'
import { aWorld } from '../e2e/console-world.ts'
import { processesBelow, TICKS_PER_SECOND, ticksBelow } from './processor-time.ts'
import { median, round } from './statistics.ts'

const STARTS = 5
/** Half a minute after its start, V8 collects the garbage of the start once. */
const SETTLE_MS = 45_000
const IDLE_MS = 60_000
const MB = 2 ** 20
const run = promisify(execFile)

/**
 * The desktop app in the Electron of the tests, on a screen without a graphics card, with a double of the manager and a person who is
 * signed in: time until its window is on the screen and its page has requested the first list, and the resources that it uses while idle.
 * The first start fills caches and is not counted.
 */
export async function benchDesktop(stack: AsyncDisposableStack) {
  const desktop = stack.use(await openDesktop())
  const double = stack.use(await startConsoleDouble(aWorld()))
  const config = await mkdtemp(join(tmpdir(), 'berth-bench-desktop-'))
  stack.defer(() => rm(config, { recursive: true, force: true, maxRetries: 5 }))

  async function start() {
    const streams = double.streams()
    const began = performance.now()
    const child = startPlainApp(desktop, config, [], { BERTH_ENDPOINT: double.url })
    const ended = new Promise(done => child.once('exit', done))
    const until = async (isSo: () => boolean | Promise<boolean>) => {
      while (!(await isSo())) {
        if (child.exitCode !== null) throw new Error(`the app ended with ${child.exitCode}`)
        await wait(10)
      }
      return performance.now() - began
    }
    const isOnScreen = () =>
      run('xdotool', ['search', '--onlyvisible', '--name', 'Berth'], { env: { ...process.env, ...desktop.env } }).then(
        ({ stdout }) => stdout !== '',
        () => false,
      )
    const [windowMs, pageMs] = await Promise.all([until(isOnScreen), until(() => double.streams() > streams)])
    const stop = async () => {
      child.kill('SIGKILL')
      await ended
    }
    return { pid: child.pid ?? 0, windowMs, pageMs, stop }
  }

  const starts: { windowMs: number; pageMs: number }[] = []
  for (let count = 0; count <= STARTS; count++) {
    const app = await start()
    if (count > 0) starts.push(app)
    if (count < STARTS) await app.stop()
    else {
      stack.defer(app.stop)
      await wait(SETTLE_MS)
      const before = await ticks(app.pid)
      await wait(IDLE_MS)
      const used = (await ticks(app.pid)) - before
      const pids = await processesBelow(app.pid)
      const bytes = await Promise.all(pids.map(shareOfMemory))
      return {
        desktop: {
          windowMs: round(median(starts.map(({ windowMs }) => windowMs))),
          pageMs: round(median(starts.map(({ pageMs }) => pageMs))),
          idleCpuPercent: round((100 * used) / TICKS_PER_SECOND / (IDLE_MS / 1_000), 2),
          idleMemoryMB: round(bytes.reduce((sum, one) => sum + one, 0) / MB),
          processes: pids.length,
        },
      }
    }
  }
  throw new Error('never reached: the last start returns')
}

async function ticks(root: number): Promise<number> {
  return [...(await ticksBelow(root)).values()].reduce((sum, one) => sum + one, 0)
}

/** Memory of a process, in which pages that several processes share count in parts (PSS). */
async function shareOfMemory(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024
}
