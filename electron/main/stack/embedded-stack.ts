import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { STACK_STEPS, type StackStep, type ToldReason } from '#proxy/contract'
import { parseJson } from '#base/parse-json'
import { AppError, CauseFields, isErrorCode } from '#manager/contract'
import { parseSignInLink } from '../settings/sign-in-link.ts'

const STOP_TIMEOUT_MS = 30_000
/** Time to wait for the last lines of a child that has ended. */
const LAST_WORDS_MS = 1_000

const Coded = z.object({ code: z.string(), detail: z.record(z.string(), z.unknown()).optional() })
const Step = z.object({
  step: z.enum(STACK_STEPS),
  state: z.enum(['running', 'done', 'absent']),
  /** With `absent`: why the service was not started. */
  reason: Coded.optional(),
})
/** Line that follows a while after the start: why sessions can reach this computer and its network; null if they cannot. */
const Isolation = z.object({ partlyIsolated: z.object({ why: z.string(), ...CauseFields }).nullable() })
const Ready = z.object({ url: z.string(), pid: z.int() })
const Line = z.union([z.object({ error: Coded }), Ready])

/** Receives the progress of the start. */
export interface StackReport {
  onStep(step: StackStep, state: 'running' | 'done' | 'absent', reason?: AppError): void
  /** @param why sessions can reach this computer and its network; null if they cannot */
  onIsolation(why: ToldReason | null): void
  onLog(line: string): void
}

/** Manager, agent and console of this computer, run by `berth up`. */
export interface EmbeddedStack extends AsyncDisposable {
  /** Address of the stack, without the sign-in ticket. */
  readonly endpoint: string
  /** One-time ticket that signs in the first admin, if the start offered one. */
  readonly ticket: string | null
  /** False if the stack was already running: then we must not stop it. */
  readonly owned: boolean
}

export interface StackDeps {
  /** The pinned Node and the arguments that run the CLI, e.g. `['…/node', '…/bin/berth']`; more arguments may follow `up`. */
  readonly command: readonly [string, ...string[]]
  /** More arguments of `up`. */
  readonly options?: readonly string[]
  /** Variables besides those of this process. */
  readonly environment?: Readonly<Record<string, string>>
  /** Called when the stack ended without a request; it is then restarted. */
  readonly onExit: (code: number | null) => void
  readonly report?: StackReport
  /** Delay before the first restart; doubles up to 30 s. */
  readonly restartAfterMs?: number
}

/**
 * Starts `berth up` as a child and reads its one JSON line. Its lock on the data directory decides which process runs the stack: if another
 * process holds it, the line names that process, the child ends, and we only use the running stack. The child keeps an IPC channel to us,
 * so that it also stops when the desktop app is killed. Sessions are containers of the Docker Engine and outlive both.
 */
export async function startEmbeddedStack(deps: StackDeps): Promise<EmbeddedStack> {
  const stopping = new AbortController()
  let child = launch(deps)
  const line = await firstLine(child)
  let owned = line.pid === child.pid
  if (owned) supervise(child)
  return {
    ...parseSignInLink(line.url),
    get owned() {
      return owned
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      if (owned) await stop(child)
    },
  }

  function supervise(running: ChildProcess): void {
    running.once('exit', code => {
      if (stopping.signal.aborted) return
      deps.onExit(code)
      void restart(0)
    })
  }

  /** Restarts the stack at the same address: `berth up` requests its own port again. */
  async function restart(failures: number): Promise<void> {
    const pause = Math.min(30_000, (deps.restartAfterMs ?? 1000) * 2 ** failures)
    await delay(pause, undefined, { signal: stopping.signal }).catch(() => undefined)
    if (stopping.signal.aborted) return
    try {
      child = launch(deps)
      const again = await firstLine(child)
      owned = again.pid === child.pid
      if (owned) supervise(child)
    } catch {
      // The manager's standard error gave the reason; the page says that the manager does not answer.
      await restart(failures + 1)
    }
  }
}

function launch({ command, options = [], environment = {}, report }: StackDeps): ChildProcess {
  const [program, ...args] = command
  const child = attempt(() =>
    spawn(program, [...args, 'up', '--json', '--no-open', '--ticket', ...options], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: { ...process.env, ...environment },
      // A terminal's Ctrl-C reaches the whole process group; we stop the stack ourselves, after asking the user.
      detached: process.platform !== 'win32',
    }),
  )
  if (report && child.stderr) createInterface({ input: child.stderr }).on('line', line => tell(report, line))
  return child
}

/** Some failures of spawn() are thrown, others are reported by the event `error`. */
function attempt(start: () => ChildProcess): ChildProcess {
  try {
    return start()
  } catch (error) {
    throw notStarted(error)
  }
}

function notStarted(cause: unknown): AppError {
  return new AppError('unavailable', { why: 'The Berth services on this computer could not be started.' }, { cause })
}

/** A line of standard error: a step of the start, the isolation of sessions, the error that `readLine` reads, or text for people. */
function tell(report: StackReport, text: string): void {
  const value = parseJson(text)
  const step = Step.safeParse(value)
  if (step.success) report.onStep(step.data.step, step.data.state, step.data.reason && coded(step.data.reason))
  const isolation = Isolation.safeParse(value)
  if (isolation.success) report.onIsolation(isolation.data.partlyIsolated)
  else if (typeof value !== 'object' && text.trim() !== '') report.onLog(text)
}

/** @throws the coded error of the start, or `unavailable` */
async function firstLine(child: ChildProcess): Promise<z.infer<typeof Ready>> {
  const line = await readLine(child)
  if ('url' in line) return line
  throw coded(line.error)
}

function coded({ code, detail }: z.infer<typeof Coded>): AppError {
  return new AppError(isErrorCode(code) ? code : 'internal', detail)
}

/** Reads the line with the result of the start: on standard output if it succeeded, among the progress on standard error if it failed. */
function readLine(child: ChildProcess): Promise<z.infer<typeof Line>> {
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('the child has no pipes')
  return new Promise((resolve, reject) => {
    child.once('error', error => reject(notStarted(error)))
    child.once('exit', code => {
      const why = `The Berth services on this computer ended while starting (exit code ${String(code)}).`
      const end = () => reject(new AppError('unavailable', { why }))
      // Do not wait for `close` alone: the last output may still be in the pipe, but a process that the child left behind may keep the pipe
      // open.
      child.once('close', end)
      setTimeout(end, LAST_WORDS_MS).unref()
    })
    for (const input of [stdout, stderr]) {
      createInterface({ input }).on('line', text => {
        const line = Line.safeParse(parseJson(text))
        if (line.success) resolve(line.data)
      })
    }
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}
