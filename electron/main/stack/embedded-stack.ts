import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { AppError, isErrorCode } from '#manager/contract'
import { parseSignInLink } from '../sign-in-link.ts'

const STOP_TIMEOUT_MS = 30_000

const Ready = z.object({ url: z.string(), pid: z.int() })
const Line = z.union([
  z.object({ error: z.object({ code: z.string(), detail: z.record(z.string(), z.unknown()).optional() }) }),
  Ready,
])

/** Manager, agent and console of this computer, as `berth up` runs them. */
export interface EmbeddedStack extends AsyncDisposable {
  /** Where it answers, without the sign-in ticket. */
  readonly endpoint: string
  /** One-time ticket that signs the first admin in, if the start offered one. */
  readonly ticket: string | null
  /** False where it was already running: then it is not ours to stop. */
  readonly owned: boolean
}

export interface StackDeps {
  /** The pinned Node and the arguments that run the CLI, e.g. `['…/node', '…/bin/berth']`. */
  readonly command: readonly [string, ...string[]]
  /** It ended although nobody asked; it is started again. */
  readonly onExit: (code: number | null) => void
  readonly onProgress?: (text: string) => void
  /** Before the first new start; doubles up to 30 s. */
  readonly restartAfterMs?: number
}

/**
 * Starts `berth up` as a child and reads its one JSON line. Its lock on the data directory decides who runs the stack: if
 * another process does, the line names that one and the child ends, and we are guests. The child keeps an IPC channel to
 * us, so that it also stops when the desktop app is killed. Sessions are containers of the Docker Engine and outlive both.
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

  /** The address stays: `berth up` asks for its own port again. */
  async function restart(failures: number): Promise<void> {
    const pause = Math.min(30_000, (deps.restartAfterMs ?? 1000) * 2 ** failures)
    await delay(pause, undefined, { signal: stopping.signal }).catch(() => undefined)
    if (stopping.signal.aborted) return
    child = launch(deps)
    try {
      const again = await firstLine(child)
      owned = again.pid === child.pid
      if (owned) supervise(child)
    } catch {
      // Its standard error said why; the page says that the manager does not answer.
      await restart(failures + 1)
    }
  }
}

function launch({ command, onProgress }: StackDeps): ChildProcess {
  const [program, ...args] = command
  const child = spawn(program, [...args, 'up', '--json', '--no-open', '--ticket'], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A terminal's Ctrl-C reaches the whole group; the stack is stopped by us, after asking.
    detached: process.platform !== 'win32',
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => onProgress?.(text))
  return child
}

/** @throws the coded error of the start, or `unavailable` */
async function firstLine(child: ChildProcess): Promise<z.infer<typeof Ready>> {
  const line = await readLine(child)
  if ('url' in line) return line
  throw new AppError(isErrorCode(line.error.code) ? line.error.code : 'internal', line.error.detail)
}

function readLine(child: ChildProcess): Promise<z.infer<typeof Line>> {
  const { stdout } = child
  if (!stdout) throw new Error('the child has no stdout')
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown) => reject(new AppError('unavailable', { why }, { cause }))
    child.once('error', error => fail('The local services could not be started.', error))
    child.once('exit', code => fail(`The local services ended while starting (exit code ${String(code)}).`))
    createInterface({ input: stdout }).on('line', text => {
      const line = Line.safeParse(parseJson(text))
      if (line.success) resolve(line.data)
    })
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
