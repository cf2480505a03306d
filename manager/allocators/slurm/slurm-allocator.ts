import { execFile, spawn } from 'node:child_process'
import { closeSync, openSync, readSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cleanLine } from '#base/clean-text'
import { defined } from '#base/defined'
import { newUuid } from '../../store/new-id.ts'
import { type Allocator } from '../allocator.ts'
import { readNodes } from './read-nodes.ts'
import { readSacct, SACCT_FIELDS } from './read-sacct.ts'
import { readSqueue } from './read-squeue.ts'
import { sallocArguments } from './salloc-arguments.ts'

export interface SlurmAllocatorOptions {
  /** Directory of Slurm's client commands; left out = they are found by PATH. */
  readonly commands?: string | undefined
  /** Ends calls in progress. Requests for allocations continue. */
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  readonly pingTimeoutMs?: number
}

/** While the controller is away, commands answer after MessageTimeout, twice 10 s by default. */
const TIMEOUT_MS = 30_000
const PING_TIMEOUT_MS = 5_000
/** Looks wait for it, for each session that has lost its job. */
const HISTORY_TIMEOUT_MS = 5_000
/** Pause after a failure, so that the sessions of a whole cluster do not wait for a database that is away, one after the other. */
const NO_HISTORY_MS = 60_000
/** A list of 10,000 jobs of Slurm 24.11 has about 60 MB. */
const MOST_BYTES = 256 * 2 ** 20
const MOST_WORDS = 2_000
/** Linux takes arguments of up to 131,071 bytes. With more names, the jobs of all users are listed. */
const MOST_NAMES = 100_000

const execute = promisify(execFile)

/**
 * Allocates with the client commands of Slurm 22.05 and later, without a shell. They read Slurm's own configuration and identify this
 * process's user to the controller.
 */
export function createSlurmAllocator(options: SlurmAllocatorOptions = {}): Allocator {
  const { commands, signal, timeoutMs = TIMEOUT_MS, pingTimeoutMs = PING_TIMEOUT_MS } = options
  const program = (name: string) => (commands === undefined ? name : join(commands, name))
  let askAgainAt = 0
  const run = (name: string, args: readonly string[], ms = timeoutMs) => runAs(null, name, args, ms)
  const runAs = (user: string | null, name: string, args: readonly string[], ms = timeoutMs) => {
    const [file, all] = asUser(user, program(name), args)
    return execute(file, all, {
      timeout: ms,
      killSignal: 'SIGKILL',
      maxBuffer: MOST_BYTES,
      env: environment(user),
      ...defined({ signal }),
    })
  }

  return {
    async ping() {
      // Other commands wait for a controller that is away; this one answers at once, with exit code 1.
      return run('scontrol', ['ping'], pingTimeoutMs).then(
        () => true,
        () => false,
      )
    },

    allocate(request, onRefused) {
      const words = openWords()
      // A waiting allocation ends with its client. The client is in a process session of its own, so that it outlives this process.
      const [file, args] = asUser(request.user, program('salloc'), sallocArguments(request))
      const client = spawn(file, args, {
        detached: true,
        stdio: ['ignore', 'ignore', words],
        env: environment(request.user),
      })
      client.unref()
      let isOver = false
      const end = (told: () => string | undefined) => {
        if (isOver) return
        isOver = true
        const refusal = told()
        closeSync(words)
        if (refusal !== undefined) onRefused(refusal)
      }
      client.on('error', error => end(() => error.message))
      client.on('exit', code => end(() => (code === 0 ? undefined : lastWords(words))))
    },

    async list(prefix, users) {
      const uid = process.getuid?.()
      const names = [uid, ...users].join(',')
      // Slurm 22.05 lists the jobs of all users all the same.
      const own = uid === undefined || names.length > MOST_NAMES ? [] : [`--user=${names}`]
      const { stdout } = await run('squeue', ['--json', '--states=all', ...own])
      return readSqueue(stdout, { prefix, uid, users })
    },

    async nodes() {
      const { stdout } = await run('scontrol', ['show', 'nodes', '--oneliner'])
      const nodes = readNodes(stdout)
      if (nodes.length === 0) throw new Error('Slurm named no nodes')
      return nodes
    },

    async endOf(allocation) {
      if (performance.now() < askAgainAt) return undefined
      const { name, identity } = allocation
      // Without a number, sacct would look at the jobs of today only.
      const which = identity ? [`--jobs=${identity.id}`] : [`--name=${name}`, '--starttime=now-7days']
      const how = ['--noheader', '--parsable2', '--allocations', '--duplicates', '--allusers']
      // The command fails at sites without slurmdbd, and while that is away.
      return run('sacct', [...how, ...which, `--format=${SACCT_FIELDS}`], HISTORY_TIMEOUT_MS).then(
        ({ stdout }) => readSacct(stdout, allocation, process.getuid?.()),
        () => {
          askAgainAt = performance.now() + NO_HISTORY_MS
          return undefined
        },
      )
    },

    async release(id, user) {
      await runAs(user, 'scancel', [id])
    },
  }
}

/**
 * A command as another user: by `runuser` for root, else by `sudo`, which the site allows for `salloc --no-shell` and `scancel` only. Both take an
 * argument list and start no shell. `salloc --uid` is root's alone, and gone since Slurm 24.
 */
function asUser(user: string | null, command: string, args: readonly string[]): [string, readonly string[]] {
  if (user === null) return [command, args]
  const start = process.getuid?.() === 0 ? ['runuser', '-u', user] : ['sudo', '-n', '-u', user]
  const [program = '', ...options] = start
  return [program, [...options, '--', command, ...args]]
}

/** Where the commands find their libraries and configuration, and who asks. */
const PASSED = ['PATH', 'LD_LIBRARY_PATH', 'HOME', 'USER', 'LOGNAME', 'TZ', 'TMPDIR', 'SLURM_CONF']
/** Proves to Slurm who the manager is: a person whom a command runs as could read it in `/proc`, and act as the manager. */
const OWN = ['SLURM_JWT']

/**
 * Only what the commands need: the manager has secrets, such as the address of its database, that a client which outlives it should not keep
 * and plugins of the site should not see. Others, such as SALLOC_PARTITION and SQUEUE_USERS, would change requests and the list.
 */
function environment(user: string | null): NodeJS.ProcessEnv {
  const names = user === null ? [...PASSED, ...OWN] : PASSED
  return { ...defined(Object.fromEntries(names.map(name => [name, process.env[name]]))), LC_ALL: 'C' }
}

/** A file without a name: a client that outlives this process could not write to a pipe. */
function openWords(): number {
  const path = join(tmpdir(), `berth-salloc-${newUuid()}`)
  const file = openSync(path, 'wx+', 0o600)
  unlinkSync(path)
  return file
}

function lastWords(file: number): string {
  const bytes = Buffer.alloc(MOST_WORDS)
  const length = readSync(file, bytes, 0, MOST_WORDS, 0)
  const lines = bytes.toString('utf8', 0, length).split('\n')
  const words = lines.map(line => line.replace(/^salloc: (error: )?/, '').trim()).filter(line => line !== '')
  return cleanLine(words.slice(-2).join(' '))
}
