import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { AppError } from '#manager/contract'
import { type Log } from '../../log.ts'
import { type Binaries, findBinaries, MAJOR } from './binaries.ts'
import { osUser } from './os-user.ts'
import { PG_ENV, startPostmaster, stopOrphan } from './postmaster.ts'
import { chooseUser, type RunAs } from './run-as.ts'
import { superviseServer } from './supervise-server.ts'

const run = promisify(execFile)
const DATABASE_USER = 'berth'
/** Bytes. sun_path holds 104 bytes on macOS and 108 on Linux, including `/.s.PGSQL.5432` and a zero at the end. */
const SOCKET_DIR_LIMIT = 88

export interface Embedded extends AsyncDisposable {
  readonly connection: {
    readonly host: string
    readonly port: number
    readonly user: string
    readonly database: string
  }
}

/**
 * Starts the PostgreSQL of a data directory. Disposing the result stops it.
 *
 * Threat model: the server listens on a Unix socket only, in a directory of mode 0700. Authentication is `peer`: the kernel
 * says who connects, and only our own OS user (and the server's) is let in, so there is no password to keep or to leak. If
 * we are root, the server runs as `berth-postgres`, so that a fault in it does not give root rights.
 *
 *     DATA/pgsql/<version>/   binaries, only as root       DATA/db/cluster/       files of PostgreSQL
 *     DATA/db/run/            the socket                   DATA/db/postgres.log
 *
 * @throws AppError `data_version_unsupported`, `data_dir_locked`, `config_invalid`, `unavailable`
 */
export async function openEmbedded({ dataDir, log }: { dataDir: string; log: Log }): Promise<Embedded> {
  await using stack = new AsyncDisposableStack()
  const asRoot = osUser().uid === 0
  const data = resolve(dataDir)
  await mkdir(data, { recursive: true, mode: asRoot ? 0o711 : 0o700 })
  if (asRoot) await chmod(data, 0o711) // other users may pass to their own files below, but not list the directory
  const runAs = await chooseUser(data)
  const binaries = await findBinaries(asRoot ? join(data, 'pgsql') : undefined)

  const home = join(data, 'db')
  const clusterDir = join(home, 'cluster')
  await ownDirectory(home, runAs)
  const socketDir = await chooseSocketDir(join(home, 'run'), runAs, stack)
  const ownerFile = join(home, 'owner.pid')
  const ownerPid = Number(await readFile(ownerFile, 'utf8').catch(() => '')) || undefined
  if ((await stopOrphan({ clusterDir, socketDir, ownerPid })) === 'stopped') {
    log.warn({ clusterDir }, 'stopped the database that an earlier manager left running')
  }
  const version = await readFile(join(clusterDir, 'PG_VERSION'), 'utf8').catch(() => undefined)
  if (version === undefined) await initialise({ binaries, runAs, home, clusterDir, log })
  else await checkCluster({ version: version.trim(), clusterDir, runAs })
  await writeAccessRules(clusterDir, runAs)

  const spec = { postgres: binaries.postgres, clusterDir, socketDir, logFile: join(home, 'postgres.log'), runAs }
  await writeFile(ownerFile, String(process.pid), { mode: 0o600 })
  stack.use(await superviseServer({ start: () => startPostmaster(spec), log }))
  const opened = stack.move()
  return {
    connection: { host: socketDir, port: 5432, user: DATABASE_USER, database: 'postgres' },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Creates the cluster atomically: in a directory beside the final one, renamed once `initdb` has synced it to disk. */
async function initialise(options: {
  binaries: Binaries
  runAs: RunAs
  home: string
  clusterDir: string
  log: Log
}): Promise<void> {
  const { binaries, runAs, home, clusterDir, log } = options
  const partial = join(home, `cluster.partial-${process.pid}`)
  await rm(partial, { recursive: true, force: true })
  const startedAt = performance.now()
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = [`--username=${DATABASE_USER}`, '--auth-local=peer', '--auth-host=reject']
  const [command = '', ...args] = [...runAs.prefix, binaries.initdb, '-D', partial, ...locale, ...access]
  try {
    await run(command, args, { ...runAs.spawn, cwd: '/', env: PG_ENV })
    await rename(partial, clusterDir)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    const stderr = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    throw new AppError('unavailable', { why: `The embedded database cannot be created: ${stderr}` }, { cause: error })
  }
  log.info({ ms: Math.round(performance.now() - startedAt), clusterDir }, 'created the embedded database')
}

async function checkCluster(options: { version: string; clusterDir: string; runAs: RunAs }): Promise<void> {
  const { version, clusterDir, runAs } = options
  if (version !== MAJOR) {
    throw new AppError('data_version_unsupported', {
      why:
        `${clusterDir} was written by PostgreSQL ${version}; this Berth has ${MAJOR}. Make a backup with the Berth that` +
        ' wrote it (berth backup), then restore it into a new data directory.',
    })
  }
  if ((await stat(clusterDir)).uid === runAs.uid) return
  if (osUser().uid !== 0) {
    throw new AppError('config_invalid', { why: `${clusterDir} belongs to another user of this computer.` })
  }
  // The system user was recreated with another uid (a re-installed machine, a restored disk).
  await run('chown', ['-R', '-h', `${runAs.uid}:${runAs.gid}`, clusterDir])
}

/** Written at every start: the OS user may have changed. @see PostgreSQL manual 20.2 */
async function writeAccessRules(clusterDir: string, runAs: RunAs): Promise<void> {
  const files = {
    'pg_hba.conf': `local all ${DATABASE_USER} peer map=berth\n`,
    'pg_ident.conf': `berth ${osUser().username} ${DATABASE_USER}\n`,
  }
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(clusterDir, name), text, { mode: 0o600 })
    await chown(join(clusterDir, name), runAs.uid, runAs.gid)
  }
}

async function chooseSocketDir(preferred: string, runAs: RunAs, stack: AsyncDisposableStack): Promise<string> {
  if (Buffer.byteLength(preferred) <= SOCKET_DIR_LIMIT) {
    await ownDirectory(preferred, runAs)
    return preferred
  }
  const made = await mkdtemp(join(tmpdir(), 'berth-pg-'))
  await ownDirectory(made, runAs)
  stack.defer(() => rm(made, { recursive: true, force: true }))
  return made
}

/** Makes a directory of mode 0700 that belongs to the user of the server. */
async function ownDirectory(path: string, runAs: RunAs): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 })
  await chmod(path, 0o700)
  await chown(path, runAs.uid, runAs.gid)
}
