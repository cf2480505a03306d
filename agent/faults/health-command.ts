import { type ChildProcess, spawn } from 'node:child_process'
import { type Readable } from 'node:stream'
import { lastLines } from '#agent/contract'
import { within } from '#base/within'
import { AppError, because, type Because } from '#manager/contract'
import { type Log } from '../log.ts'
import { type HostFault } from './host-faults.ts'

/** Program of the administrator that decides whether this host may start sessions. */
export interface HealthCommand {
  /** Program (absolute) and arguments; no shell reads them. */
  readonly words: readonly string[]
  readonly intervalMs: number
  readonly timeoutMs: number
}

export interface HealthCheckDeps extends HealthCommand {
  readonly onChange: () => void
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly now?: () => number
  readonly killGroup?: (pid: number) => void
}

/** The command as a fault of the host. */
export interface HealthCheck extends HostFault, AsyncDisposable {
  readonly problem: Because | null
  /** Runs the command if it is due. */
  check(): Promise<void>
  /** Runs the command before the start of a session, unless it has just passed. @throws AppError `kernel_create_failed` if it fails */
  beforeStart(): Promise<void>
}

/** A result counts for starts within this time, so that sessions that start together are checked once. */
const FRESH_MS = 5_000
/** Longest interval while the command fails: the host should return soon after it was mended. */
const FAILING_INTERVAL_MS = 60_000
/** Time that a killed command has to end: one that waits for a broken driver cannot be killed, and is left behind. */
const GRACE_MS = 2_000
/** Time that the output of an ended command has to arrive. */
const OUTPUT_WAIT_MS = 250
/** Output that is kept: its end, which holds the reason. */
const MOST_OUTPUT = 16_384

/**
 * Runs the command of the administrator before sessions start and at an interval. A failing command is a fault of the host: no session is
 * placed there, and none that was placed loses an attempt. The host returns when the command passes again.
 *
 * The command runs as the agent's user with an environment of its own, in a process group that is killed as a whole when the command has
 * ended or the time is over. At most one runs at a time: while one that cannot be killed is there, its failure stands. The output is shown to administrators: as text without control characters, and not more than a few lines.
 */
export function createHealthCheck(deps: HealthCheckDeps): HealthCheck {
  const { intervalMs, onChange, log, now = () => performance.now() } = deps
  const stop = new AbortController()
  let problem: Because | null = null
  let ranAt = -Infinity
  let running: Promise<void> | undefined
  let last: ChildProcess | undefined

  async function run(): Promise<void> {
    ranAt = now()
    if (isThere(last)) return
    const { child, text } = await runToEnd(deps, stop.signal)
    last = child
    if (stop.signal.aborted) return
    ranAt = now()
    const before = problem
    problem = text === undefined ? null : because('agent_unhealthy', { text })
    if (problem?.why === before?.why) return
    if (problem) log.warn({ text }, 'the health command fails: this host takes no sessions')
    else log.info({}, 'the health command passes again')
    onChange()
  }
  const runOnce = () => (running ??= run().finally(() => (running = undefined)))

  return {
    get problem() {
      return problem
    },
    async check() {
      const interval = problem === null ? intervalMs : Math.min(intervalMs, FAILING_INTERVAL_MS)
      if (now() - ranAt >= interval) await runOnce()
    },
    async beforeStart() {
      if (running || problem !== null || now() - ranAt >= FRESH_MS) await runOnce()
      if (problem !== null) throw new AppError('kernel_create_failed', because('host_unhealthy'))
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      // A command that cannot be killed must not keep the agent from stopping.
      if (running) await within(GRACE_MS, running, () => new Error('late')).catch(() => undefined)
    },
  }
}

const isThere = (child: ChildProcess | undefined) =>
  child?.pid !== undefined && child.exitCode === null && child.signalCode === null

/** Runs the command to its end. @returns text of its failure; undefined if it passed */
async function runToEnd(
  { words, timeoutMs, killGroup = pid => process.kill(-pid, 'SIGKILL') }: HealthCheckDeps,
  signal: AbortSignal,
): Promise<{ readonly child: ChildProcess; readonly text: string | undefined }> {
  const [program = '', ...args] = words
  const child = spawn(program, args, {
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', HOME: process.env.HOME ?? '/', LANG: 'C.UTF-8' },
  })
  let output = ''
  // Node leaves them out where this process has no descriptors for them; the error follows.
  const streams = [child.stdout, child.stderr].filter(stream => (stream as Readable | undefined) !== undefined)
  for (const stream of streams) {
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => (output = (output + text).slice(-MOST_OUTPUT)))
  }
  const kill = () => {
    try {
      // A script may have started other programs, which are in its process group.
      if (child.pid !== undefined) killGroup(child.pid)
    } catch {
      // The programs have ended in the meantime.
    }
  }
  const ended = new Promise<string | undefined>(resolve => {
    const end = (code: number | null, by: NodeJS.Signals | null) =>
      resolve(code === 0 ? undefined : (lastLines(output) ?? (by === null ? `exit code ${code}` : `signal ${by}`)))
    child.once('error', error => resolve(error.message))
    child.once('close', end)
    // A program that the command has left behind keeps the streams open.
    child.once('exit', (code, by) => setTimeout(end, OUTPUT_WAIT_MS, code, by))
  })
  signal.addEventListener('abort', kill, { once: true })
  const late = () => new Error('late')
  try {
    return { child, text: await within(timeoutMs, ended, late) }
  } catch {
    kill()
    await within(GRACE_MS, ended, late).catch(() => undefined)
    return { child, text: [`no result within ${timeoutMs / 1000} s`, lastLines(output)].filter(Boolean).join(': ') }
  } finally {
    signal.removeEventListener('abort', kill)
    // Programs that the command has left behind would stay, and be more after each run.
    kill()
    for (const stream of streams) stream.destroy()
    child.unref()
  }
}
