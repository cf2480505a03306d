import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type SessionId } from '#manager/contract'
import { probeDatabase } from '../../../cli/doctor/probe/database.ts'
import { silentLog } from '../../../manager/log.ts'
import { openStore } from '../../../manager/store/open-store.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { startPostgresHaproxy } from '../../fixtures/haproxy.ts'
import { startPostgresPair } from '../../fixtures/postgres-pair.ts'
import { startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const LIMIT_MS = 10_000

interface Answer {
  readonly status: number
  readonly id: SessionId | undefined
  readonly text: string
}

async function tokenOf(url: string): Promise<string> {
  return (await apiOf(url).login({ body: { ...ADMIN, kind: 'token' } })).token ?? ''
}

/** Launches a session; its name is the key under which a repeated request changes nothing more. */
async function launch(url: string, token: string, name: string): Promise<Answer> {
  const asked = performance.now()
  const reply = await fetch(`${url}/api/v1/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': name },
    body: JSON.stringify({ image: 'berth/python:3.13', name, resources: { cpu: '0.1', mem: '64m' } }),
  })
  const text = await reply.text()
  expect(performance.now() - asked).toBeLessThan(LIMIT_MS)
  const { items } = JSON.parse(text) as { items?: readonly { id: SessionId }[] }
  return { status: reply.status, id: items?.[0]?.id, text }
}

const isDefined = () => true
const isRefused = () => false

/** Launches until it is acknowledged, as a client does that repeats what was refused. */
async function launchSurely(url: string, token: string, name: string, statuses: Set<number>): Promise<SessionId> {
  for (;;) {
    const { status, id } = await launch(url, token, name)
    statuses.add(status)
    if (status === 201 && id) return id
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}

test.each(['both servers', 'a proxy that follows the primary'])(
  'a manager whose URL names %s goes on after failovers, and loses nothing that it acknowledged',
  async named => {
    await using stack = new AsyncDisposableStack()
    const pair = stack.use(await startPostgresPair())
    const [one, two] = pair.servers
    let databaseUrl = pair.url
    if (named !== 'both servers') {
      const url = new URL(one.url)
      const login = { user: url.username, password: url.password }
      url.port = String(stack.use(await startPostgresHaproxy({ ports: [one.port, two.port], login })).port)
      databaseUrl = url.href
      // Until its first checks the proxy takes both servers for up, and cuts connections to the standby afterwards.
      const isPrimary = () =>
        pair.query({ url: databaseUrl }, 'select pg_is_in_recovery() as standby').then(
          ([row]) => row?.standby === false,
          () => false,
        )
      for (let right = 0; right < 6;) right = (await isPrimary()) ? right + 1 : 0
    }
    const cluster = stack.use(await startSessionsCluster(undefined, { databaseUrl }))
    await cluster.join()
    const token = await tokenOf(cluster.url)
    await pair.setSynchronous(one, true)
    const acknowledged = new Map<string, SessionId>()
    const statuses = new Set<number>()
    let isDone = false
    async function work(): Promise<void> {
      while (!isDone) {
        const name = `s-${randomUUID()}`
        const id = await launchSurely(cluster.url, token, name, statuses)
        acknowledged.set(name, id)
        // Ended again, so that the next one finds room.
        const end = () => cluster.api.deleteSession({ params: { id } })
        while (!(await end().then(isDefined, isRefused))) await new Promise(resolve => setTimeout(resolve, 100))
      }
    }
    const working = Promise.all([work(), work(), work()])
    const more = async (count: number) => {
      const before = acknowledged.size
      await expect.poll(() => acknowledged.size).toBeGreaterThan(before + count)
    }
    try {
      await more(10)
      await one.kill()
      await two.promote()
      await pair.setSynchronous(two, false)
      await more(10)
      await one.followOther()
      await pair.setSynchronous(two, true)
      await more(5)
      await two.kill()
      await one.promote()
      await pair.setSynchronous(one, false)
      await more(10)
    } finally {
      isDone = true
      await working
    }
    const rows = await pair.query(one, 'select id, name from sessions')
    const kept = new Map(rows.map(row => [String(row.name), String(row.id)]))
    for (const [name, id] of acknowledged) expect(kept.get(name)).toBe(id)
    expect(kept.size).toBe(rows.length)
    // 409: for a moment, the first request with the key is not given up yet.
    expect([201, 409, 503]).toEqual(expect.arrayContaining([...statuses]))
    expect(statuses).toContain(503)
  },
)

test('a standby that does not answer is named as the cause, and what was refused happens once when it is repeated', async () => {
  await using pair = await startPostgresPair()
  const [one, two] = pair.servers
  await using cluster = await startSessionsCluster(undefined, { databaseUrl: one.url })
  await cluster.join()
  const token = await tokenOf(cluster.url)
  await pair.setSynchronous(one, true)
  expect((await launch(cluster.url, token, 'before')).status).toBe(201)
  const thaw = await two.freeze()
  try {
    expect((await launch(cluster.url, token, 'meanwhile')).status).toBe(503)
    await expect
      .poll(async () => (await launch(cluster.url, token, 'another')).text)
      .toContain('database_standby_silent')
    const ready = await fetch(`${cluster.url}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('database_standby_silent')])
    expect(await probeDatabase('', pair.url)).toMatchObject({ status: 'reachable', waitsForStandby: true })
    const [waiting] = await pair.query(one, `select count(*)::int from pg_stat_activity where wait_event = 'SyncRep'`)
    // The pool's, and nothing that asks whether it is over.
    expect(waiting?.count).toBeLessThanOrEqual(12)
  } finally {
    thaw()
  }
  await expect.poll(async () => (await launch(cluster.url, token, 'meanwhile')).status).toBe(201)
  const [made] = await pair.query(one, `select count(*)::int from sessions where name = 'meanwhile'`)
  expect(made?.count).toBe(1)
})

test('a standby alone is refused in words, and by the doctor', async () => {
  await using pair = await startPostgresPair()
  const [, two] = pair.servers
  await using directory = await temporaryDirectory()
  const opening = openStore({ databaseUrl: two.url, dataDir: directory.path, log: silentLog })
  await expect(opening).rejects.toMatchObject({ code: 'unavailable', detail: { cause: 'database_read_only' } })
  expect(await probeDatabase('', two.url)).toMatchObject({ status: 'reachable', isReadOnly: true })
  expect(await probeDatabase('', pair.url)).toMatchObject({ status: 'reachable', isReadOnly: false })
})
