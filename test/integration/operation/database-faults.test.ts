import { execFileSync } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { ANSWER_LIMIT_MS } from '../../../manager/store/answer-limits.ts'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { startStallingProxy } from '../../fixtures/stalling-proxy.ts'

interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly ms: number
}
async function ask(url: string, token: string, method = 'GET', path = '/api/v1/me'): Promise<Answer> {
  const asked = performance.now()
  const reply = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: '{}' } : {}),
  })
  const { code } = (await reply.json()) as { code?: string }
  return { status: reply.status, code, ms: performance.now() - asked }
}

/** The manager's own limit is ANSWER_LIMIT_MS; the rest is for machines that are slow and busy. */
const LIMIT_MS = 20_000

async function expectRefusedInTime(url: string, token: string): Promise<void> {
  // More reads and changes than there are connections, one after the other and at once.
  const asked = Array.from({ length: 30 }, (_, index) =>
    index % 2 ? ask(url, token) : ask(url, token, 'POST', '/api/v1/keypairs'),
  )
  const answers = await Promise.all(asked)
  for (const { status, code, ms } of answers) {
    expect({ status, code }).toEqual({ status: 503, code: 'unavailable' })
    expect(ms).toBeLessThan(LIMIT_MS)
  }
  const next = await ask(url, token)
  expect(next).toMatchObject({ status: 503, code: 'unavailable' })
  // Later requests are refused at once, without waiting until the limit.
  expect(next.ms).toBeLessThan(ANSWER_LIMIT_MS)
  const ready = await ask(url, token, 'GET', '/readyz')
  expect(ready).toMatchObject({ status: 503, code: 'unavailable' })
}

test('when a network drops packets to the database, every request is refused within 10 s, and served again afterwards', async () => {
  await using database = await startDatabase()
  await using proxy = await startStallingProxy(database.url)
  await using manager = await startTestManager({ databaseUrl: proxy.url })
  const { token } = await manager.signIn()
  proxy.stall()
  await expectRefusedInTime(manager.url, token)
  proxy.resume()
  await expect.poll(async () => (await ask(manager.url, token)).status).toBe(200)
  expect((await ask(manager.url, token, 'POST', '/api/v1/keypairs')).status).toBe(201)
})

test('when the processes of PostgreSQL are stopped, every request is refused within 10 s, and served again afterwards', async () => {
  await using manager = await startTestManager({ backend: 'embedded' })
  const { token } = await manager.signIn()
  const pids = await serverProcesses(manager.dataDir)
  const signal = (name: 'SIGSTOP' | 'SIGCONT') => {
    for (const pid of pids) process.kill(pid, name)
  }
  signal('SIGSTOP')
  try {
    await expectRefusedInTime(manager.url, token)
  } finally {
    signal('SIGCONT')
  }
  await expect.poll(async () => (await ask(manager.url, token)).status).toBe(200)
})

test('connections that the server ends under load cause only 503, and the next request is served', async () => {
  await using manager = await startTestManager({ backend: 'embedded' })
  const { token } = await manager.signIn()
  await using other = await openToRead({ dataDir: manager.dataDir, databaseUrl: undefined, log: silentLog })
  const seen = new Map<string, number>()
  let stop = false
  const clients = Array.from({ length: 12 }, async () => {
    while (!stop) {
      const { status, code } = await ask(manager.url, token, 'POST', '/api/v1/keypairs')
      const key = `${status} ${code ?? ''}`.trim()
      seen.set(key, (seen.get(key) ?? 0) + 1)
    }
  })
  for (let round = 0; round < 40; round++) {
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'berth-manager' and pid <> pg_backend_pid() and backend_type = 'client backend'
        and pid not in (select pid from pg_stat_activity where query like '%pg_terminate_backend%')`.execute(other.db)
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  // On a busy machine no request may have lived long enough until now.
  await expect.poll(() => seen.has('201')).toBe(true)
  stop = true
  await Promise.all(clients)
  expect([...seen.keys()].toSorted()).toEqual(['201', '503 unavailable'])
  expect((await ask(manager.url, token)).status).toBe(200)
})

test('a statement that waits too long for a lock is given up with 503', async () => {
  await using manager = await startTestManager({ backend: 'embedded' })
  const { token } = await manager.signIn()
  await using other = await openToRead({ dataDir: manager.dataDir, databaseUrl: undefined, log: silentLog })
  const locked = other.db.transaction().execute(async trx => {
    await sql`lock table keypairs in access exclusive mode`.execute(trx)
    return await ask(manager.url, token, 'GET', '/api/v1/keypairs')
  })
  const { status, ms } = await locked
  expect(status).toBe(503)
  expect(ms).toBeLessThan(LIMIT_MS)
  expect((await ask(manager.url, token, 'GET', '/readyz')).status).toBe(200)
})

/** A separate disk, small enough to be filled at once. */
async function smallDisk(): Promise<AsyncDisposable & { readonly path: string }> {
  const { path, [Symbol.asyncDispose]: remove } = await temporaryDirectory()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=220m', 'tmpfs', path])
  return {
    path,
    async [Symbol.asyncDispose]() {
      execFileSync('umount', ['-l', path])
      await remove()
    },
  }
}

test.runIf(userInfo().uid === 0)(
  'with a full disk the manager is not ready and refuses changes, explains why it does not start, and is ready when there is room',
  async () => {
    await using disk = await smallDisk()
    const filler = join(disk.path, 'filler')
    const fill = () => {
      try {
        execFileSync('dd', ['if=/dev/zero', `of=${filler}`, 'bs=4k', 'count=100000'], { stdio: 'ignore' })
      } catch {
        // `dd` ends because the disk is full.
      }
    }
    {
      await using manager = await startTestManager({ dataDir: disk.path })
      const { token } = await manager.signIn()
      const ready = () => ask(manager.url, token, 'GET', '/readyz')
      expect((await ready()).status).toBe(200)
      fill()
      await expect
        .poll(() => ask(manager.url, token, 'POST', '/api/v1/keypairs'), { interval: 1 })
        .toMatchObject({ status: 507, code: 'disk_full' })
      await expect.poll(ready).toMatchObject({ status: 507, code: 'disk_full' })
      await rm(filler)
      await expect.poll(ready).toMatchObject({ status: 200 })
      expect((await ask(manager.url, token, 'POST', '/api/v1/keypairs')).status).toBe(201)
    }
    fill()
    await expect(startTestManager({ dataDir: disk.path })).rejects.toMatchObject({ code: 'disk_full' })
    await rm(filler)
    await using manager = await startTestManager({ dataDir: disk.path })
    expect((await ask(manager.url, '', 'GET', '/readyz')).status).toBe(200)
  },
)

/** The postmaster and all of its processes. */
async function serverProcesses(dataDir: string): Promise<number[]> {
  const [line] = (await readFile(join(dataDir, 'db/cluster/postmaster.pid'), 'utf8')).split('\n')
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', line ?? ''], { encoding: 'utf8' })
  return [line ?? '', ...children.trim().split('\n')].map(Number)
}
