import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { AppError } from '#manager/contract'
import { type RunAs } from './run-as.ts'

const START_TIMEOUT_MS = 60_000 // crash recovery replays the rest of the write-ahead log
const STOP_TIMEOUT_MS = 4_000
const POLL_MS = 10
const LOG_LIMIT_BYTES = 5_000_000

export interface PostmasterSpec {
  readonly postgres: string
  readonly clusterDir: string
  readonly socketDir: string
  readonly logFile: string
  readonly runAs: RunAs
}

/** Settings for a small and durable server that is reachable by its socket only. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '64MB',
  max_connections: '40',
  max_wal_size: '256MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  io_method: 'sync', // no worker processes for a database that fits into memory
  jit: 'off',
  huge_pages: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'log', // the manager logs errors of statements itself
  log_checkpoints: 'off',
}

/**
 * Starts the server on its cluster and waits until it accepts connections. The server gets an OS session of its own: a
 * Ctrl-C in the terminal reaches the manager only, which then shuts the server down properly.
 *
 * @throws AppError `data_dir_locked` if another server uses the cluster, `unavailable` if the server does not start
 */
export async function startPostmaster(spec: PostmasterSpec): Promise<ChildProcess> {
  await rotate(spec.logFile)
  const log = openSync(spec.logFile, 'a', 0o600)
  const { runAs } = spec
  const settings = { ...SETTINGS, unix_socket_directories: spec.socketDir }
  const [command = '', ...args] = [
    ...runAs.prefix,
    spec.postgres,
    '-D',
    spec.clusterDir,
    ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]),
  ]
  const child = spawn(command, args, {
    ...runAs.spawn,
    stdio: ['ignore', log, log],
    detached: true,
    cwd: '/',
    env: PG_ENV,
  })
  closeSync(log)
  const failure = new Promise<Error>(resolve => child.once('error', resolve))
  const exit = new Promise<Error>(resolve => {
    child.once('exit', (code, signal) => resolve(new Error(`postgres ended with ${String(code ?? signal)}`)))
  })
  const ended = Promise.race([failure, exit])
  const outcome = await Promise.race([ended, untilReady(spec.clusterDir, child)])
  if (outcome === 'ready') return child
  child.kill('SIGQUIT')
  throw await toStartError(spec, outcome)
}

/** Environment of the server. It inherits only PATH from the manager, whose environment may hold secrets. */
export const PG_ENV = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }

async function untilReady(clusterDir: string, child: ChildProcess): Promise<'ready' | Error> {
  const deadline = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadline && child.exitCode === null) {
    const found = await readPidFile(clusterDir)
    if (found?.pid === child.pid && found?.status === 'ready') return 'ready'
    await delay(POLL_MS)
  }
  return new Error('postgres was not ready in time')
}

async function toStartError(spec: PostmasterSpec, cause: Error): Promise<AppError> {
  const tail = (await readFile(spec.logFile, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-4).join('\n')
  const other = await readPidFile(spec.clusterDir)
  if (other && tail.includes('postmaster.pid') && (await processFacts(other.pid))) {
    return new AppError('data_dir_locked', { why: `Another process is using ${spec.clusterDir}.` }, { cause })
  }
  const why = `The embedded database does not start: ${cause.message}. The end of its log (${spec.logFile}): ${tail}`
  return new AppError('unavailable', { why }, { cause })
}

/**
 * Stops a server that a killed manager left behind (its parent is gone), so that never two servers use the cluster and no
 * server runs with old settings. No data is lost: acknowledged commits are in the write-ahead log.
 *
 * @param ownerPid process id of the manager that started the server
 * @throws AppError `data_dir_locked` if that manager is alive
 */
export async function stopOrphan(options: {
  clusterDir: string
  socketDir: string
  ownerPid: number | undefined
}): Promise<'none' | 'stopped'> {
  const { clusterDir, socketDir, ownerPid } = options
  const found = await readPidFile(clusterDir)
  const facts = found && (await processFacts(found.pid))
  if (!found || !facts?.command.includes(clusterDir)) {
    await disarm(join(clusterDir, 'postmaster.pid'), clusterDir)
    await disarm(join(socketDir, '.s.PGSQL.5432.lock'), clusterDir)
    return 'none'
  }
  if (ownerPid !== undefined && ownerPid !== process.pid && facts.parent === ownerPid) {
    throw new AppError('data_dir_locked', { why: `The manager with process id ${ownerPid} uses ${clusterDir}.` })
  }
  await stopProcess(found.pid)
  return 'stopped'
}

/** A process id that no process has. */
const NO_PID = '2147483646'

/**
 * Replaces the process id in a stale lock file. After a crash it may belong to a zombie or to a process of another cluster,
 * and postgres would refuse to start. The rest of the file stays: postgres still checks the shared memory that
 * postmaster.pid names, which finds backends that outlived their server.
 */
async function disarm(path: string, clusterDir: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return
  const facts = await processFacts(Number(text.split('\n')[0]))
  if (!facts?.command.includes(clusterDir)) await writeFile(path, text.replace(/^.*/, NO_PID))
}

/**
 * Stops the server: first a fast shutdown, which ends sessions and writes a checkpoint. After a time-out an immediate
 * shutdown, which is safe but needs crash recovery at the next start.
 */
export async function stopProcess(pid: number): Promise<void> {
  signal(pid, 'SIGINT')
  if (await untilGone(pid, STOP_TIMEOUT_MS)) return
  signal(pid, 'SIGQUIT')
  if (!(await untilGone(pid, STOP_TIMEOUT_MS))) throw new Error(`postgres (process id ${pid}) does not stop`)
}

async function untilGone(pid: number, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (await processFacts(pid)) {
    if (performance.now() > deadline) return false
    await delay(POLL_MS)
  }
  return true
}

/** Line 1 is the process id, line 8 the status. @see src/include/utils/pidfile.h of PostgreSQL */
async function readPidFile(clusterDir: string): Promise<{ pid: number; status: string } | undefined> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(() => '')
  const lines = text.split('\n')
  const pid = Number(lines[0])
  return Number.isSafeInteger(pid) && pid > 0 ? { pid, status: (lines[7] ?? '').trim() } : undefined
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // the process has ended already
  }
}

/**
 * Parent and command of a process. Undefined if there is no such process, or if it is a zombie: its parent may never
 * reap it.
 */
async function processFacts(pid: number): Promise<{ parent: number; command: string } | undefined> {
  try {
    return process.platform === 'linux' ? await factsFromProc(pid) : await factsFromPs(pid)
  } catch {
    return undefined // no such process
  }
}

async function factsFromProc(pid: number): Promise<{ parent: number; command: string } | undefined> {
  const [status, args] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/cmdline`, 'utf8'),
  ])
  // proc(5): the name is in parentheses and may contain any characters, so parse from the last closing one.
  const [state = '', parent = ''] = status.slice(status.lastIndexOf(')') + 2).split(' ')
  return 'ZX'.includes(state) ? undefined : { parent: Number(parent), command: args.replaceAll('\0', ' ') }
}

async function factsFromPs(pid: number): Promise<{ parent: number; command: string } | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'ppid=,args=', '-p', String(pid)])
  const [, parent, command] = /^\s*(\d+)\s+(.*)$/m.exec(stdout) ?? []
  return parent === undefined || command === undefined ? undefined : { parent: Number(parent), command }
}

async function rotate(logFile: string): Promise<void> {
  const found = await stat(logFile).catch(() => undefined)
  if (found && found.size > LOG_LIMIT_BYTES) await rename(logFile, `${logFile}.1`)
}
