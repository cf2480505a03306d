import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, isFinished, type Session, type SessionSpec } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { newUuid } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { listSessions } from '../../../manager/store/sessions/session-list.ts'
import { apiOf } from '../../fixtures/manager.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { refusal, type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

const IMAGE = 'berth/python:3.13'
const LIMIT = 64 * 1024

const stack = new AsyncDisposableStack()
let cluster: SessionsCluster
let store: Store
let eve: ApiClient
let token: string
beforeAll(async () => {
  cluster = stack.use(await startSessionsCluster())
  store = stack.use(await openToRead({ ...cluster.source, log: silentLog }))
  eve = await cluster.addUser('eve@example.org')
  const signIn = await apiOf(cluster.url).login({
    body: { email: 'eve@example.org', password: USER_PASSWORD, kind: 'token' },
  })
  token = signIn.token ?? ''
})
beforeEach(async () => {
  await cluster.join()
})
afterEach(() => cluster.reset())
afterAll(() => stack.disposeAsync())

const inAMonth = () => new Date(Date.now() + 30 * 86_400_000).toISOString()
/** A waiting session: only its content matters here. */
const spec = (more: Partial<SessionSpec> = {}): SessionSpec => ({
  image: IMAGE,
  resources: {},
  environ: {},
  count: 1,
  resourceGroup: 'default',
  startsAt: inAMonth(),
  ...more,
})
/** Variables of exactly so many bytes: names of two, values of ASCII. */
function variables(bytes: number): Record<string, string> {
  const environ: Record<string, string> = {}
  let left = bytes
  for (let index = 0; left > 0; index++) {
    const value = 'x'.repeat(Math.min(32_000, left - 2))
    environ[`V${index}`] = value
    left -= 2 + value.length
  }
  return environ
}

describe('the variables of a request', () => {
  test.each([
    ['ASCII', variables(LIMIT + 1), '65,537 bytes'],
    ['Korean, which takes three bytes a character', { A: '가'.repeat(22_000) }, '66,001 bytes'],
    [
      'names alone',
      Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`N${i}`.padEnd(128, 'n'), 'x'.repeat(250)])),
      '75,600 bytes',
    ],
  ])('more than 64 KiB together (%s) are refused, with the limit and their size', async (_, environ, size) => {
    const requests = [
      () => eve.createSession({ body: spec({ environ }) }),
      () => eve.whatIf({ body: spec({ environ }) }),
      () => eve.saveSessionTemplate({ params: { name: 'large' }, body: spec({ environ }) }),
      () => eve.putImageDefaults({ body: { image: IMAGE, environ } }),
    ]
    for (const request of requests) {
      const error = await refusal(request())
      expect(error).toMatchObject({ code: 'bad_request', detail: { fields: [{ path: 'environ' }] } })
      expect(JSON.stringify(error.detail)).toContain(size)
      expect(JSON.stringify(error.detail)).toContain('65,536')
    }
  })

  test('exactly 64 KiB are taken', async () => {
    const environ = variables(LIMIT)
    const { items } = await eve.createSession({ body: spec({ environ }) })
    const id = items[0]?.id as Session['id']
    expect((await eve.getSession({ params: { id } })).environ).toEqual(environ)
    await eve.saveSessionTemplate({ params: { name: 'full' }, body: spec({ environ }) })
    await eve.putImageDefaults({ body: { image: IMAGE, environ } })
  })

  test('a start-up command has at most 16 KiB, in bytes', async () => {
    const { detail } = await refusal(eve.createSession({ body: spec({ startupCommand: '가'.repeat(6_000) }) }))
    expect(JSON.stringify(detail)).toContain('must have at most 16,384 bytes (16 KiB); it has 18,000 bytes')
  })

  test('sessions, templates and defaults that have more from before are shown and launched as they were', async () => {
    const { items } = await eve.createSession({ body: spec({ environ: { A: '1' } }) })
    const id = items[0]?.id as Session['id']
    await eve.saveSessionTemplate({ params: { name: 'old' }, body: spec() })
    await eve.putImageDefaults({ body: { image: 'old/image:1', environ: {} } })
    const environ = variables(300_000)
    const json = JSON.stringify(environ)
    await sql`update sessions set environ = ${json}::jsonb where id = ${id}`.execute(store.db)
    await sql`update session_templates set spec = spec || jsonb_build_object('environ', ${json}::jsonb)
      where name = 'old'`.execute(store.db)
    await sql`update image_defaults set settings = settings || jsonb_build_object('environ', ${json}::jsonb)
      where image = 'old/image:1'`.execute(store.db)
    expect((await eve.getSession({ params: { id } })).environ).toEqual(environ)
    const templates = await eve.listSessionTemplates()
    expect(templates.items.find(({ name }) => name === 'old')?.spec.environ).toEqual(environ)
    const defaults = await eve.listImageDefaults()
    expect(defaults.items.find(({ image }) => image === 'old/image:1')?.environ).toEqual(environ)
  })
})

describe('an answer with sessions', () => {
  test('names the variables; their values come with the one session', async () => {
    const environ = { TOKEN: 'hunter2', B: '2', a: '3' }
    const environNames = ['B', 'TOKEN', 'a']
    const made = await eve.createSession({ body: spec({ environ, count: 2, tags: ['values'] }) })
    const id = made.items[0]?.id as Session['id']
    const listed = await eve.listSessions({ query: { tag: 'values' } })
    const queued = await cluster.api.listQueue()
    const changed = await eve.updateSession({ params: { id }, body: { note: 'noted' } })
    for (const session of [...made.items, ...listed.items, ...queued.items, changed]) {
      expect(session).toMatchObject({ environNames })
      expect(session).not.toHaveProperty('environ')
    }
    expect(await eve.getSession({ params: { id } })).toMatchObject({ environ, environNames })
    expect(await cluster.api.getSession({ params: { id } })).toMatchObject({ environ: {}, environNames })
    const rows = await listSessions(store.db, {}, { limit: 10 })
    expect(JSON.stringify(rows)).not.toContain('hunter2')
  })
})

describe('a large answer under an idempotency key', () => {
  const post = async (key: string, body: unknown) => {
    const reply = await fetch(`${cluster.url}/api/v1/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    })
    const json = (await reply.json()) as { items: Session[] }
    return { status: reply.status, replayed: reply.headers.get('idempotency-replayed'), ids: json.items.map(s => s.id) }
  }

  test('is made again from what was created, and takes no room', async () => {
    const key = newUuid()
    const body = spec({ count: 20, note: 'n'.repeat(4_000), startupCommand: 'c'.repeat(16_000) })
    const first = await post(key, body)
    expect(first).toMatchObject({ status: 201, replayed: null })
    const { rows } = await sql<{ bytes: number }>`
      select octet_length(sealed) as bytes from idempotency_keys where key = ${key}`.execute(store.db)
    expect(rows[0]?.bytes).toBeLessThan(1_000)
    for (let again = 0; again < 3; again++) expect(await post(key, body)).toEqual({ ...first, replayed: 'true' })
    const live = (await eve.listSessions({ query: { limit: '100' } })).items.filter(({ status }) => !isFinished(status))
    expect(live).toHaveLength(20)
  })
})

/** Sends a request and reads the first bytes of the answer. @returns its status, and the connection, which is not read further */
async function askAndStop(path: string): Promise<{ status: number; socket: Socket }> {
  const { host, port } = new URL(cluster.url)
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(`GET /api/v1${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`)
  const [first] = (await once(socket, 'data')) as [Buffer]
  socket.pause()
  return { status: Number(first.toString('latin1', 9, 12)), socket }
}

test('answers that one person does not read are few, and others are answered meanwhile', async () => {
  const names = Array.from({ length: 200 }, (_, index) => [`N${index}_`.padEnd(128, 'n'), ''])
  const environ = Object.fromEntries(names) as Record<string, string>
  const { id } = (await eve.me()).user
  const long = { status: 'TERMINATED', environ, startupCommand: 'c'.repeat(16_000), note: 'n'.repeat(4_000) } as const
  await insertSessions(
    store.db,
    Array.from({ length: 400 }, () => aSessionRow(id, long)),
  )
  const asked = await Promise.all(Array.from({ length: 16 }, () => askAndStop('/sessions?limit=500')))
  const taken = asked.filter(({ status }) => status === 200)
  try {
    // Each has about 19 MiB, of which the system's buffers contain some.
    expect(taken.length).toBeGreaterThan(0)
    expect(taken.length).toBeLessThan(10)
    expect(asked.filter(({ status }) => status === 429)).toHaveLength(asked.length - taken.length)
    expect((await cluster.api.listSessions()).items.length).toBeGreaterThan(0)
  } finally {
    for (const { socket } of asked) socket.destroy()
  }
  await expect.poll(async () => (await eve.listSessions({ query: { limit: '1' } })).items).toHaveLength(1)
})
