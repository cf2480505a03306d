import { spawn } from 'node:child_process'
import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { postgresFolder } from './test-tools.ts'

export interface TestPostgres extends AsyncDisposable {
  /** Value for TEST_DATABASE_URL; a superuser of its own cluster, so that tests can create databases. */
  readonly url: string
  /** Process id of its first process, from which all others come. */
  readonly pid: number
}

const START_DEADLINE_S = 30

/**
 * The data never outlives the run, so it need not survive a power cut. Every test makes and drops databases: in memory and with these
 * settings the server needs a third less CPU time.
 */
const SETTINGS = [
  ...['fsync=off', 'full_page_writes=off', 'autovacuum=off', 'wal_level=minimal', 'max_wal_senders=0'],
  ...['shared_buffers=256MB', 'max_wal_size=512MB', 'listen_addresses=127.0.0.1', 'unix_socket_directories='],
]

const MEMORY_FOLDER = '/dev/shm'
/** About 2 GiB are written at most; the rest is for the programs under test. */
const MEMORY_NEEDED = { folder: 3 * 2 ** 30, free: 8 * 2 ** 30 }

/** The folder for the cluster: in memory where there is enough of it. */
function clusterParent(): string {
  if (!existsSync(MEMORY_FOLDER)) return tmpdir()
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER)
  return bavail * bsize > MEMORY_NEEDED.folder && freemem() > MEMORY_NEEDED.free ? MEMORY_FOLDER : tmpdir()
}

/**
 * A PostgreSQL from Debian's packages besides the embedded one, for tests that run on both. Listens on 127.0.0.1 only, with a
 * random password, and deletes everything at the end.
 *
 * @returns undefined if no PostgreSQL is installed
 */
export async function startTestPostgres(root: boolean): Promise<TestPostgres | undefined> {
  const programs = postgresFolder()
  if (programs === undefined) return undefined
  const folder = mkdtempSync(join(clusterParent(), 'berth-test-postgres-'))
  const cluster = join(folder, 'cluster')
  const passwordFile = join(folder, 'password')
  const password = randomBytes(16).toString('hex')
  // PostgreSQL does not run as root.
  const as = root ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : []
  const command = (name: string, ...args: string[]) => {
    const [program = '', ...rest] = [...as, join(programs, name), ...args]
    return { program, args: rest }
  }
  const execute = async (name: string, ...args: string[]) => {
    const { program, args: rest } = command(name, ...args)
    await runCommand(program, rest, { cwd: folder })
  }
  const remove = () => {
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    writeFileSync(passwordFile, `${quickVerifier(password)}\n`, { mode: 0o600 })
    if (root) await runCommand('chown', ['-R', 'postgres:postgres', folder])
    const login = ['--username=berth', '--auth=scram-sha-256', `--pwfile=${passwordFile}`]
    await execute('initdb', '--no-sync', '--encoding=UTF8', '--locale=C.UTF-8', ...login, cluster)
    const port = await freePort()
    const settings = [...SETTINGS, `port=${String(port)}`].map(setting => `-c ${setting}`).join(' ')
    const start = command(
      'pg_ctl',
      '-D',
      cluster,
      '-w',
      '-t',
      String(START_DEADLINE_S),
      '-l',
      join(folder, 'log'),
      '-o',
      settings,
      'start',
    )
    // The server keeps inherited descriptors open: pipes of ours would never end.
    await ended(start.program, start.args, folder)
    return {
      url: `postgres://berth:${password}@127.0.0.1:${String(port)}/postgres`,
      pid: Number.parseInt(readFileSync(join(cluster, 'postmaster.pid'), 'utf8'), 10),
      [Symbol.asyncDispose]: async () => {
        await execute('pg_ctl', '-D', cluster, '-m', 'immediate', 'stop')
        remove()
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

/**
 * The form in which PostgreSQL stores the password (RFC 5803), with one iteration instead of 4096: a random password is no easier to guess for
 * it, and each of the thousands of connections of a run takes its client a millisecond less.
 */
function quickVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, 1, 32, 'sha256')
  const keyOf = (name: string) => createHmac('sha256', salted).update(name).digest()
  const stored = createHash('sha256').update(keyOf('Client Key')).digest('base64')
  return `SCRAM-SHA-256$1:${salt.toString('base64')}$${stored}:${keyOf('Server Key').toString('base64')}`
}

function ended(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, stdio: 'ignore' })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', code => {
      if (code === 0) resolve()
      else reject(new Error(`PostgreSQL for the tests did not start (${String(code)})`))
    })
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
  })
}
