import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { AppError } from '#manager/contract'
import { type Log } from '../log.ts'
import { openStore, type Store } from '../store/open-store.ts'

export interface Source {
  readonly dataDir: string
  readonly databaseUrl: string | undefined
  readonly log: Log
}

/**
 * Opens the existing database for reading. A running Berth keeps running: its embedded server is used over its socket,
 * and is started here only if it is not running.
 * @throws AppError `not_found` if there is no database yet
 */
export async function openToRead({ dataDir, databaseUrl, log }: Source): Promise<Store> {
  if (databaseUrl) return await openStore({ dataDir, databaseUrl, log, migrate: false, isPatient: true })
  const cluster = join(dataDir, 'db', 'cluster')
  if ((await readFile(join(cluster, 'PG_VERSION')).catch(() => undefined)) === undefined)
    throw new AppError('not_found', { why: `There is no database in ${dataDir}.` })
  const running = await findRunning(cluster)
  return await openStore({ dataDir, databaseUrl: running, log, migrate: false, isPatient: true })
}

/**
 * Finds the running embedded server. Line 5 of postmaster.pid is the directory of its socket; a stale file names a
 * directory where nothing listens.
 */
async function findRunning(cluster: string): Promise<string | undefined> {
  const lines = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
  const directory = lines[4]?.trim()
  if (!directory || !(await isListening(join(directory, '.s.PGSQL.5432')))) return undefined
  return `postgresql://berth@${encodeURIComponent(directory)}/postgres`
}

function isListening(path: string): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(path)
    const settle = (listening: boolean) => {
      socket.destroy()
      resolve(listening)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
