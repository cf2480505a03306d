import { type ChildProcess, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { finished } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { type ProcessorTime } from './process-table.ts'
import { type Meter, startMeter } from './processor-time.ts'

export interface Program {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  /** File for its output, and whether it is added to what is there; undefined: the output is ours. */
  readonly log?: { readonly path: string; readonly append: boolean } | undefined
  /** Signal that asks the program to end in order; undefined: it gets SIGTERM at once. */
  readonly cancelBy?: NodeJS.Signals | undefined
  /** Milliseconds between SIGTERM and SIGKILL. */
  readonly patienceMs?: number
}

export interface Ended {
  readonly code: number
  readonly seconds: number
  /** Processor time of the program and of all that it started. */
  readonly processor: ProcessorTime
}

/** Time in which a program that was asked to end in order cleans up after itself. */
const CLEAN_UP_MS = 20_000
const PATIENCE_MS = 5_000
const POLL_MS = 50

/**
 * Runs a program to its end, or until `signal` aborts. No process that the program started outlives it, not even one in its own session.
 * The exception: a process whose parent ends before the meter's next look.
 */
export async function runFollowed(program: Program, signal: AbortSignal): Promise<Ended> {
  const { command, args, cwd, env, log, cancelBy, patienceMs = PATIENCE_MS } = program
  const started = performance.now()
  const child = spawn(command, args, {
    ...{ cwd, env },
    stdio: log === undefined ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
    // Out of reach of Ctrl-C, which would end workers before their tests have cleaned up.
    detached: process.platform !== 'win32',
  })
  const exited = new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code, name) => {
      resolve(name === null ? (code ?? 1) : 1)
    })
  })
  const meter = startMeter(child.pid ?? 0)
  // Runs if this process exits without waiting, as after a second Ctrl-C.
  const killAll = () => signalAll(meter.living(), 'SIGKILL')
  process.once('exit', killAll)
  let interrupting = Promise.resolve()
  const onAbort = () => {
    interrupting = interrupt(child, meter, cancelBy).then(() => endAll(meter, patienceMs))
  }
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  try {
    const written = log && writeLog(child, log)
    const code = await exited
    // A process that is left behind may hold the output open.
    await endAll(meter, patienceMs)
    await written
    return { code, seconds: (performance.now() - started) / 1000, processor: meter.used() }
  } finally {
    signal.removeEventListener('abort', onAbort)
    await interrupting
    meter.stop()
    process.off('exit', killAll)
  }
}

async function writeLog({ stdout, stderr }: ChildProcess, { path, append }: NonNullable<Program['log']>) {
  if (!stdout || !stderr) return
  const file = createWriteStream(path, { flags: append ? 'a' : 'w' })
  stdout.pipe(file, { end: false })
  stderr.pipe(file, { end: false })
  await Promise.all([finished(stdout), finished(stderr)])
  file.end()
  await finished(file)
}

/** Asks a program to end in order, if it knows how to, and waits for a while. */
async function interrupt(child: ChildProcess, meter: Meter, cancelBy: NodeJS.Signals | undefined): Promise<void> {
  if (cancelBy === undefined) return
  // A look takes a while on a busy machine. Once the program is told to end, a parent may end during it, before its children are read.
  meter.living()
  child.kill(cancelBy)
  const deadline = performance.now() + CLEAN_UP_MS
  // Keep looking: the meter finds processes only while their parents live.
  while (meter.living().includes(child.pid ?? 0) && performance.now() < deadline) await wait(POLL_MS)
}

/** Ends all that a meter follows: SIGTERM, then SIGKILL for what has not ended in time. */
async function endAll(meter: Meter, patienceMs: number): Promise<void> {
  const deadline = performance.now() + patienceMs
  let told: readonly number[] = []
  for (let left = meter.living(); left.length > 0; left = meter.living()) {
    if (performance.now() > deadline) signalAll(left, 'SIGKILL')
    else
      signalAll(
        left.filter(pid => !told.includes(pid)),
        'SIGTERM',
      )
    told = left
    await wait(POLL_MS)
  }
}

/** A process that has ended in the meantime is no fault. */
function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}
