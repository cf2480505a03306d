import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { casesOf } from '../../../build/bootstrap/test-sets.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'

const ROOT = join(import.meta.dirname, '../../..')
const BERTH = join(ROOT, 'bin/berth')
/** A server that is told to end while it starts is gone within this time, also on a slow and busy machine. */
const ENDS_WITHIN_MS = 60_000
/** Not a guarantee: the time that a test waits for a server on a very busy machine. */
const STARTS_WITHIN_MS = 180_000

type Process = ChildProcessByStdio<null, Readable, Readable>

function start(command: string, args: readonly string[], environment: Record<string, string>): Process {
  const env = { ...cleanEnvironment(), BERTH_PORT: '0', BERTH_LOG: 'error', ...environment }
  return spawn(command, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
}

/** Processes whose environment contains this data directory: everything started for it, whoever the parent is now. */
async function processesOf(data: string): Promise<string[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async pid => {
      const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
      return environment.includes(`BERTH_DATA=${data}\0`) ? pid : undefined
    }),
  )
  return found.filter(pid => pid !== undefined)
}

describe.skipIf(process.platform !== 'linux')('the end of a server', () => {
  test.each(casesOf([0.1, 0.3, 0.5, 0.8, 1.2, 2], 3))(
    'a server that is stopped %d s after its start ends with all its child processes',
    async seconds => {
      await using data = await temporaryDirectory()
      await using database = await startDatabase()
      const manager = start(process.execPath, [BERTH, 'manager'], { BERTH_DATA: data.path, DATABASE_URL: database.url })
      const ended = once(manager, 'exit')
      await delay(seconds * 1000)
      manager.kill('SIGTERM')
      await delay(100)
      manager.kill('SIGTERM')
      await Promise.race([ended, delay(ENDS_WITHIN_MS, undefined, { ref: false })])
      await expect.poll(() => processesOf(data.path), { timeout: ENDS_WITHIN_MS }).toEqual([])
    },
  )

  test('a server whose database does not answer ends without waiting for it', async () => {
    await using data = await temporaryDirectory()
    await using database = await startDatabase()
    await using stack = new AsyncDisposableStack()
    const holder = new pg.Client(database.url)
    await holder.connect()
    stack.defer(() => holder.end())
    // Lock of Kysely's migrator: the start waits for it.
    await holder.query('begin')
    await holder.query('create table kysely_migration_lock (id varchar(255) primary key, is_locked integer)')
    const manager = start(process.execPath, [BERTH, 'manager'], { BERTH_DATA: data.path, DATABASE_URL: database.url })
    stack.defer(() => void manager.kill('SIGKILL'))
    const ended = once(manager, 'exit')
    const waiting = async () => {
      // A transaction sees the activity of its first query until it clears the snapshot.
      await holder.query('select pg_stat_clear_snapshot()')
      return (await holder.query("select 1 from pg_stat_activity where wait_event_type = 'Lock'")).rowCount
    }
    await expect.poll(waiting, { timeout: STARTS_WITHIN_MS }).toBeGreaterThan(0)
    manager.kill('SIGTERM')
    expect(await Promise.race([ended.then(() => 'ended'), delay(ENDS_WITHIN_MS, 'runs', { ref: false })])).toBe('ended')
    await expect.poll(() => processesOf(data.path)).toEqual([])
  })

  test.each(['SIGTERM', 'SIGKILL'] as const)('a server started through npx ends on %s to npm', async signal => {
    await using data = await temporaryDirectory()
    await using database = await startDatabase()
    const npx = start('npx', ['berth', 'manager'], { BERTH_DATA: data.path, DATABASE_URL: database.url })
    const [line] = (await Promise.race([once(npx.stdout, 'data'), once(npx, 'exit')])) as [Buffer]
    expect(String(line)).toContain('"ready":"manager"')
    npx.kill(signal)
    await expect.poll(() => processesOf(data.path), { timeout: ENDS_WITHIN_MS }).toEqual([])
  })

  test('a server ends when the copy of bin/berth that launched it under the pinned Node dies', async () => {
    await using data = await temporaryDirectory()
    await using database = await startDatabase()
    const launcher = start('/bin/sh', ['-c', `BERTH_LAUNCHED=1 "${process.execPath}" "${BERTH}" manager; true`], {
      BERTH_DATA: data.path,
      DATABASE_URL: database.url,
    })
    await once(launcher.stdout, 'data')
    launcher.kill('SIGKILL')
    await expect.poll(() => processesOf(data.path), { timeout: ENDS_WITHIN_MS }).toEqual([])
  })
})
