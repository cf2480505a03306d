import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createWriteStream, readFileSync, readdirSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Output, runProgram } from './run-program.ts'
import { type Table } from './table.ts'

/** The name of its agent. */
export const AGENT = 'gpu-check'
const EMAIL = 'admin@localhost'
/** With a letter and a digit, as the rules want it. */
const PASSWORD = `a1-${randomUUID()}`
const END_WITHIN_MS = 20_000

/** A session as `--json` prints it, as far as the check looks at it. */
export interface Session {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly reason: { readonly code: string; readonly message: string }
  readonly kernels: readonly {
    readonly containerId: string | null
    readonly devices: readonly { readonly uuid: string }[]
  }[]
}

export interface Device {
  readonly uuid: string
  readonly model: string
  readonly mode: string
  readonly memBytes: number
  readonly isolation: string
  readonly isolationReason: string | null
  readonly problem: string | null
  readonly occupied: string
  readonly utilization: number | null
  readonly memUsedBytes: number | null
}

/** Figures of a session on one GPU: its own, and those of the device. */
export interface GpuFigures {
  readonly utilization: number | null
  readonly memBytes: number | null
  readonly device: {
    readonly utilization: number | null
    readonly memBytes: number | null
    readonly totalBytes: number
  }
}

/** A Berth of the check's own: `berth up` in a folder of its own, and the command line beside it. */
export interface OwnBerth {
  readonly data: string
  /** Id of its manager, by which its containers are labelled; undefined before its agent has joined. */
  managerId(): string | undefined
  /** Starts it and waits until its console answers and its agent is connected. */
  up(signal: AbortSignal): Promise<string>
  signIn(signal: AbortSignal): Promise<string>
  /** Process id of one of its servers. */
  pidOf(server: 'manager' | 'agent'): number | undefined
  /** Ends it; sessions go on. */
  down(): Promise<void>
  run(signal: AbortSignal, ...args: string[]): Promise<Output>
  /** Runs a command with `--json`. @throws with its output if it fails */
  json(signal: AbortSignal, ...args: string[]): Promise<unknown>
  /** Starts a command and leaves it running. */
  start(...args: string[]): ChildProcess
  devices(signal: AbortSignal): Promise<Device[]>
  session(signal: AbortSignal, name: string): Promise<Session>
  /** The newest figures of each GPU of the session; undefined before the first ones. */
  figures(signal: AbortSignal, name: string): Promise<GpuFigures | undefined>
  /** Output of a command inside the session. @throws with its output if it fails */
  inside(signal: AbortSignal, name: string, ...command: string[]): Promise<string>
}

export interface OwnBerthOptions {
  /** The clone, or an unpacked server package. */
  readonly root: string
  readonly scratch: string
  readonly path: string
  readonly probeImage: string
  readonly table: Pick<Table, 'log'>
}

export function createOwnBerth({ root, scratch, path, probeImage, table }: OwnBerthOptions): OwnBerth {
  const data = join(scratch, 'berth')
  const program = join(root, 'bin/berth')
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    PATH: path,
    BERTH_DATA: data,
    BERTH_CONFIG_DIR: join(scratch, 'config'),
    BERTH_SSH_DIR: join(scratch, 'ssh'),
    BERTH_AGENT_NAME: AGENT,
    BERTH_ADMIN_PASSWORD: PASSWORD,
    BERTH_GPU_PROBE_IMAGE: probeImage,
  }
  let child: ChildProcess | undefined
  let url = ''

  async function run(signal: AbortSignal, input: string, args: readonly string[]): Promise<Output> {
    const output = await runProgram(process.execPath, [program, ...args], { signal, env, input })
    table.log(`$ berth ${args.join(' ')}   # exit ${output.code}\n${output.stdout}${output.stderr}`.trimEnd())
    return output
  }
  async function json(signal: AbortSignal, args: readonly string[]): Promise<unknown> {
    const { code, stdout, stderr } = await run(signal, '', [...args, '--json'])
    if (code !== 0) throw new Error(stderr || stdout || `exit code ${code}`)
    return JSON.parse(stdout)
  }

  return {
    data,
    managerId() {
      try {
        const text = readFileSync(join(data, 'agent/agent.json'), 'utf8')
        return (JSON.parse(text) as { manager?: { managerId: string } }).manager?.managerId
      } catch {
        return undefined
      }
    },
    async up(signal) {
      await Promise.all(
        [data, join(scratch, 'config'), join(scratch, 'ssh')].map(folder => mkdir(folder, { recursive: true })),
      )
      // A session of its own: a Ctrl-C in the terminal ends the check, which ends the Berth.
      const started = spawn(process.execPath, [program, 'up', '--no-open', '--json', '--port', '0'], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      })
      child = started
      started.stderr.pipe(createWriteStream(join(scratch, 'up.log'), { flags: 'a' }))
      const lines = createInterface({ input: started.stdout })
      const line = await new Promise<string>((done, fail) => {
        lines.once('line', done)
        started
          .once('error', fail)
          .once('exit', code => fail(new Error(`berth up ended with ${code}: ${lastLines(join(scratch, 'up.log'))}`)))
        signal.addEventListener('abort', () => fail(new Error('berth up is not ready')))
      })
      lines.on('line', () => undefined)
      url = (JSON.parse(line) as { url: string }).url
      return url
    },
    async signIn(signal) {
      const words = ['login', '--endpoint', url, '--email', EMAIL, '--password-stdin']
      const { code, stdout, stderr } = await run(signal, `${PASSWORD}\n`, words)
      if (code !== 0) throw new Error(stderr)
      return (stdout + stderr).trim()
    },
    pidOf(server) {
      return childrenOf(child?.pid ?? 0).find(({ args }) =>
        args.some(arg => new RegExp(`/${server}/main\\.[jt]s$`).test(arg)),
      )?.pid
    },
    async down() {
      const ending = child
      child = undefined
      if (!ending || ending.exitCode !== null || ending.signalCode !== null) return
      const ended = new Promise(done => ending.once('exit', done))
      ending.kill('SIGTERM')
      const kill = setTimeout(() => ending.kill('SIGKILL'), END_WITHIN_MS)
      await ended
      clearTimeout(kill)
    },
    run: (signal, ...args) => run(signal, '', args),
    json: (signal, ...args) => json(signal, args),
    start(...args) {
      table.log(`$ berth ${args.join(' ')}   # started`)
      return spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    },
    devices: async signal => (await json(signal, ['admin', 'agent', 'device', 'ls', AGENT])) as Device[],
    session: async (signal, name) => (await json(signal, ['session', 'show', name])) as Session,
    async figures(signal, name) {
      const { items } = (await json(signal, ['session', 'stats', name, '--last', '5s'])) as {
        items: { gpus: GpuFigures[] }[]
      }
      return items.at(-1)?.gpus[0]
    },
    async inside(signal, name, ...command) {
      const { code, stdout, stderr } = await run(signal, '', ['exec', name, '--', ...command])
      if (code !== 0) throw new Error(`exit code ${code}: ${stdout}${stderr}`)
      return stdout.trim()
    },
  }
}

/** Removes the folder of a Berth, from which sessions that ran to the end of the check have mounts. */
export async function removeScratch(scratch: string): Promise<void> {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const below = mounts.map(line => line.split(' ')[1] ?? '').filter(path => path.startsWith(`${scratch}/`))
  for (const path of below.toReversed()) await runProgram('umount', ['--lazy', path])
  await rm(scratch, { recursive: true, force: true })
}

interface Process {
  readonly pid: number
  readonly args: readonly string[]
}

/** Processes started by this one, and by those. */
function childrenOf(parent: number): Process[] {
  const all = readdirSync('/proc').flatMap((name): (Process & { parent: number })[] => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const args = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0')
      // The name of the program, in parentheses, may contain spaces.
      return [{ pid: Number(name), parent: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]), args }]
    } catch {
      return []
    }
  })
  const found: Process[] = []
  const parents = new Set([parent])
  for (const pid of parents) {
    for (const one of all) {
      if (one.parent !== pid || parents.has(one.pid)) continue
      parents.add(one.pid)
      found.push(one)
    }
  }
  return found
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').slice(-3).join(' ')
  } catch {
    return ''
  }
}
