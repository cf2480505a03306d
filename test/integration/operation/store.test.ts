import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { UserId } from '#manager/contract'
import { type Log, silentLog } from '../../../manager/log.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { countUsers, findUserByEmail, insertUser } from '../../../manager/store/identity/users.ts'
import { BACKENDS, createDatabase, DEFAULT_BACKEND, openDatabase } from '../../fixtures/database.ts'
import { copyEmbeddedDatabase } from '../../fixtures/embedded-template.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'

const aUser = (email: string) => ({
  id: newId(UserId),
  email,
  name: email,
  role: 'user' as const,
  password_hash: 'none',
})

describe.each(BACKENDS)('store on %s PostgreSQL', (_name, backend) => {
  /** Start, upgrade, loss and end differ between the two; statements are tested on one of them. */
  const isUsual = backend === DEFAULT_BACKEND

  async function open() {
    await using stack = new AsyncDisposableStack()
    const { path: dataDir } = stack.use(await temporaryDirectory())
    const databaseUrl = stack.use(await openDatabase(backend)).url
    if (databaseUrl === undefined) await copyEmbeddedDatabase(dataDir)
    const store = stack.use(await openStore({ dataDir, databaseUrl, log: silentLog }))
    const opened = stack.move()
    return { store, dataDir, databaseUrl, [Symbol.asyncDispose]: () => opened.disposeAsync() }
  }

  test.runIf(isUsual)('bigint is read as number, json as value, and arrays in jsonb stay arrays', async () => {
    await using opened = await open()
    const { db } = opened.store
    await db
      .insertInto('settings')
      .values({ key: 'list', value: JSON.stringify([1, { a: [] }]) })
      .execute()
    const row = await db.selectFrom('settings').selectAll().where('key', '=', 'list').executeTakeFirstOrThrow()
    expect(row.value).toEqual([1, { a: [] }])
    expect(await countUsers(db)).toBe(0)
    const { rows } = await sql<{ big: number }>`select 9007199254740991::bigint as big`.execute(db)
    expect(rows).toEqual([{ big: Number.MAX_SAFE_INTEGER }])
  })

  test.runIf(isUsual)('a transaction that throws changes nothing, and a deadlock is retried', async () => {
    await using opened = await open()
    const { store } = opened
    const failure = store.transaction(async trx => {
      await insertUser(trx, aUser('gone@example.org'))
      throw new Error('no')
    })
    await expect(failure).rejects.toThrow('no')
    expect(await countUsers(store.db)).toBe(0)

    await insertUser(store.db, aUser('a@example.org'))
    await insertUser(store.db, aUser('b@example.org'))
    const both = ['a@example.org', 'b@example.org']
    let arrived = 0
    const { promise: met, resolve: meet } = Promise.withResolvers<undefined>()
    const rename = (order: readonly string[]) =>
      store.transaction(async trx => {
        for (const email of order) {
          await sql`update users set name = name || '+' where email = ${email}`.execute(trx)
          if (++arrived >= 2) meet(undefined)
          await met
        }
      })
    await Promise.all([rename(both), rename(both.toReversed())])
    expect((await findUserByEmail(store.db, 'A@example.org'))?.name).toBe('a@example.org++')
  })

  if (backend !== 'embedded') {
    test('managers that open an empty database at the same time migrate it once', async () => {
      await using database = await createDatabase(backend)
      const options = { dataDir: '/nonexistent', databaseUrl: database.url, log: silentLog }
      const stores = await Promise.all([openStore(options), openStore(options), openStore(options)])
      for (const store of stores) {
        expect(await countUsers(store.db)).toBe(0)
        await store[Symbol.asyncDispose]()
      }
    })
  }

  test('a lost connection is logged once, a connection that closes with the store is not logged', async () => {
    await using opened = await open()
    const lost: string[] = []
    const log: Log = { ...silentLog, warn: (_, message) => void lost.push(message) }
    const { dataDir, databaseUrl } = opened
    if (databaseUrl === undefined) await opened.store[Symbol.asyncDispose]()
    for (let round = 0; round < 3; round++) {
      await using store = await openStore({ dataDir, databaseUrl, log })
      const { db } = store
      await Promise.all(Array.from({ length: 10 }, () => sql`select pg_sleep(0.05)`.execute(db)))
      await store[Symbol.asyncDispose]()
    }
    expect(lost).toEqual([])
    await using store = await openStore({ dataDir, databaseUrl, log })
    const { db } = store
    const own = await Promise.all(
      Array.from({ length: 2 }, () => sql<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(0.05)`.execute(db)),
    )
    const pids = own.flatMap(({ rows }) => rows.map(({ pid }) => pid))
    await sql`
      select pg_terminate_backend(pid) from unnest(${pids}::int[]) as pid where pid <> pg_backend_pid() limit 1`.execute(
      db,
    )
    await expect.poll(() => lost).toHaveLength(1)
    await store[Symbol.asyncDispose]()
    expect(lost).toHaveLength(1)
  })

  test('a database of a newer Berth is refused', async () => {
    await using opened = await open()
    await sql`insert into kysely_migration (name, timestamp) values ('9999-future', '')`.execute(opened.store.db)
    const { dataDir, databaseUrl } = opened
    if (databaseUrl === undefined) await opened.store[Symbol.asyncDispose]()
    await expect(openStore({ dataDir, databaseUrl, log: silentLog })).rejects.toMatchObject({
      code: 'data_version_unsupported',
    })
  })
})

describe('embedded PostgreSQL', () => {
  test('data survives a stop, the next start is quick, and no process is left', async () => {
    await using dir = await temporaryDirectory()
    const options = { dataDir: join(dir.path, 'data'), log: silentLog }
    const open = async () => {
      const startedAt = performance.now()
      return { store: await openStore(options), tookMs: performance.now() - startedAt }
    }
    const { store: first, tookMs: firstMs } = await open()
    await insertUser(first.db, aUser('stays@example.org'))
    await first[Symbol.asyncDispose]()
    const { store: second, tookMs: secondMs } = await open()
    await using _ = second
    // The first start created the cluster and all tables.
    expect(secondMs).toBeLessThan(firstMs)
    expect(await countUsers(second.db)).toBe(1)
    await second[Symbol.asyncDispose]()
    await expect(readFile(join(options.dataDir, 'db/cluster/postmaster.pid'))).rejects.toThrow('ENOENT')
  })

  test('the database runs below a directory that other users cannot enter, and closes its own directory', async () => {
    await using dir = await temporaryDirectory()
    const closed = join(dir.path, 'closed')
    await mkdir(closed, { mode: 0o700 })
    const dataDir = join(closed, 'data')
    await using store = await openStore({ dataDir, log: silentLog })
    expect(await countUsers(store.db)).toBe(0)
    expect((await stat(join(dataDir, 'db'))).mode & 0o777).toBe(0o700)
    await chmod(closed, 0o700)
  })

  test('a path that is too long for a socket works', async () => {
    await using dir = await temporaryDirectory()
    const dataDir = join(dir.path, 'd'.repeat(100), 'data')
    await copyEmbeddedDatabase(dataDir)
    await using store = await openStore({ dataDir, log: silentLog })
    expect(await countUsers(store.db)).toBe(0)
  })

  test('a cluster of another major version is refused with the way out', async () => {
    await using dir = await temporaryDirectory()
    await mkdir(join(dir.path, 'db/cluster'), { recursive: true })
    await writeFile(join(dir.path, 'db/cluster/PG_VERSION'), '17\n')
    await expect(openStore({ dataDir: dir.path, log: silentLog })).rejects.toMatchObject({
      code: 'data_version_unsupported',
    })
  })

  test('after kill -9 of the manager acknowledged writes are kept, and the remaining server is taken over', async () => {
    await using dir = await temporaryDirectory()
    await copyEmbeddedDatabase(dir.path)
    for (let round = 1; round <= 3; round++) {
      const child = fork(join(import.meta.dirname, '../../fixtures/store-writer.ts'), [dir.path], { silent: true })
      const acknowledged = await new Promise<number>((resolve, reject) => {
        child.on('message', count => {
          if (Number(count) >= 20 * round) resolve(Number(count))
        })
        child.once('exit', code => reject(new Error(`writer ended with ${String(code)}`)))
      })
      child.removeAllListeners('exit')
      child.kill('SIGKILL')
      await once(child, 'exit')
      await using store = await openStore({ dataDir: dir.path, log: silentLog })
      expect(await countUsers(store.db)).toBeGreaterThanOrEqual(acknowledged)
    }
  })

  test('the database recovers after kill -9 of server and manager', async () => {
    await using dir = await temporaryDirectory()
    await copyEmbeddedDatabase(dir.path)
    const child = fork(join(import.meta.dirname, '../../fixtures/store-writer.ts'), [dir.path], { silent: true })
    let count = 0
    child.on('message', message => (count = Number(message)))
    await expect.poll(() => count).toBeGreaterThanOrEqual(20)
    const pid = (await readFile(join(dir.path, 'db/cluster/postmaster.pid'), 'utf8')).split('\n')[0] ?? ''
    child.kill('SIGKILL')
    process.kill(Number(pid), 'SIGKILL')
    await once(child, 'exit')
    await using store = await openStore({ dataDir: dir.path, log: silentLog })
    expect(await countUsers(store.db)).toBeGreaterThanOrEqual(20)
  })

  test('a second manager on a data directory is refused while the first one lives', async () => {
    await using dir = await temporaryDirectory()
    await copyEmbeddedDatabase(dir.path)
    const child = fork(join(import.meta.dirname, '../../fixtures/store-writer.ts'), [dir.path], { silent: true })
    await once(child, 'message')
    await expect(openStore({ dataDir: dir.path, log: silentLog })).rejects.toMatchObject({ code: 'data_dir_locked' })
    const exited = once(child, 'exit')
    child.send('stop')
    await exited
    await using store = await openStore({ dataDir: dir.path, log: silentLog })
    expect(await countUsers(store.db)).toBeGreaterThan(0)
  })

  test('a killed database server is started again', async () => {
    await using dir = await temporaryDirectory()
    await copyEmbeddedDatabase(dir.path)
    await using store = await openStore({ dataDir: dir.path, log: silentLog })
    const pid = (await readFile(join(dir.path, 'db/cluster/postmaster.pid'), 'utf8')).split('\n')[0] ?? ''
    process.kill(Number(pid), 'SIGKILL')
    await expect.poll(() => countUsers(store.db).catch(() => -1)).toBe(0)
  })

  test.runIf(process.getuid?.() === 0)('under root the database server runs as a user of its own', async () => {
    await using dir = await temporaryDirectory()
    await copyEmbeddedDatabase(dir.path)
    await using store = await openStore({ dataDir: dir.path, log: silentLog })
    const pid = (await readFile(join(dir.path, 'db/cluster/postmaster.pid'), 'utf8')).split('\n')[0] ?? ''
    const { stdout } = await promisify(execFile)('stat', ['-c', '%U', `/proc/${pid}`])
    expect(stdout.trim()).toBe('berth-postgres')
    expect(await countUsers(store.db)).toBe(0)
  })
})

test('an external database that does not answer, or an invalid URL, gives a clear error', async () => {
  await using dir = await temporaryDirectory()
  const open = (databaseUrl: string) => openStore({ dataDir: dir.path, databaseUrl, log: silentLog })
  await expect(open('postgresql://nobody@127.0.0.1:1/none')).rejects.toMatchObject({ code: 'unavailable' })
  await expect(open('mysql://localhost/x')).rejects.toMatchObject({ code: 'config_invalid' })
})
