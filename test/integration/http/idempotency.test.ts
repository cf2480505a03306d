import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createClient, type Session } from '#manager/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { newUuid } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let stack: AsyncDisposableStack
let cluster: SessionsCluster
let store: Store
let token: string
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const dataDir = stack.use(await temporaryDirectory()).path
  cluster = stack.use(await startSessionsCluster(undefined, { dataDir, databaseUrl: undefined }))
  store = stack.use(await openToRead({ dataDir, databaseUrl: undefined, log: silentLog }))
  token = await tokenOf(ADMIN)
})
afterEach(() => cluster.reset())
afterAll(() => stack.disposeAsync())

async function tokenOf(who: { email: string; password: string }): Promise<string> {
  const signIn = await apiOf(cluster.url).login({ body: { ...who, kind: 'token' } })
  return signIn.token ?? ''
}

const SMALL = { image: 'berth/python:3.13', resources: { cpu: '0.1', mem: '64m' } }

interface Sent {
  readonly status: number
  readonly replayed: string | null
  readonly json: unknown
}
async function post(path: string, key: string, body: unknown, bearer = token): Promise<Sent> {
  const reply = await fetch(`${cluster.url}/api/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  })
  return { status: reply.status, replayed: reply.headers.get('idempotency-replayed'), json: await reply.json() }
}
const idsOf = ({ json }: Sent) => (json as { items: Session[] }).items.map(item => item.id)
const live = async () => (await cluster.api.listSessions({ query: { status: 'live' } })).items.map(item => item.id)

describe('a request with an idempotency key', () => {
  test('a repeated request creates nothing, gets the first answer, and is in the audit log once', async () => {
    await cluster.join()
    const key = newUuid()
    const first = await post('sessions', key, { ...SMALL, count: 2 })
    expect(first).toMatchObject({ status: 201, replayed: null })
    const second = await post('sessions', key, { ...SMALL, count: 2 })
    expect(second).toEqual({ ...first, replayed: 'true' })
    expect(await live()).toEqual(idsOf(first).toReversed())
    const { items } = await cluster.api.listAuditLog({ query: { action: 'createSession' } })
    expect(items).toHaveLength(1)
  })

  test('a key is refused with another body or address; the same key of another user is another key', async () => {
    await cluster.join()
    const key = newUuid()
    const first = await post('sessions', key, SMALL)
    for (const again of [await post('sessions', key, { ...SMALL, count: 2 }), await post('keypairs', key, {})]) {
      expect(again).toMatchObject({ status: 422, json: { code: 'idempotency_key_reused' } })
    }
    await cluster.addUser('ada-key@example.org')
    const ada = await tokenOf({ email: 'ada-key@example.org', password: 'Their-own-pass-1' })
    const hers = await post('sessions', key, SMALL, ada)
    expect(hers).toMatchObject({ status: 201, replayed: null })
    expect(idsOf(hers)).not.toEqual(idsOf(first))
    expect(await post('sessions', 'two words', SMALL)).toMatchObject({ status: 400, json: { code: 'bad_request' } })
  })

  test('many identical requests at the same time are carried out once', async () => {
    await cluster.join()
    const key = newUuid()
    const sent = await Promise.all(Array.from({ length: 12 }, () => post('sessions', key, SMALL)))
    expect(await live()).toHaveLength(1)
    for (const { status, json } of sent) {
      if (status === 201) continue
      expect(status).toBe(409)
      expect(json).toMatchObject({ code: 'request_in_progress', retry: true })
    }
    expect(await post('sessions', key, SMALL)).toMatchObject({ status: 201, replayed: 'true' })
  })

  test('a request that was refused may be repeated with its key', async () => {
    await cluster.join()
    const key = newUuid()
    const body = { ...SMALL, name: 'the-one-name' }
    const holder = await cluster.launch({ name: body.name })
    await cluster.reach(holder.id, 'RUNNING')
    expect(await post('sessions', key, body)).toMatchObject({ status: 409, json: { code: 'session_name_taken' } })
    await cluster.api.deleteSession({ params: { id: holder.id } })
    await cluster.reach(holder.id, 'TERMINATED')
    expect(await post('sessions', key, body)).toMatchObject({ status: 201, replayed: null })
  })

  test('a repeated request finds what was created before the manager died', async () => {
    await cluster.join()
    const key = newUuid()
    const first = await post('sessions', key, { ...SMALL, count: 3 })
    // The state left by a manager that was killed after the commit.
    await sql`update idempotency_keys set answered = false, claimed_at = now() where key = ${key}`.execute(store.db)
    expect(await post('sessions', key, { ...SMALL, count: 3 })).toMatchObject({ status: 409 })
    await sql`update idempotency_keys set claimed_at = now() - interval '61 seconds' where key = ${key}`.execute(
      store.db,
    )
    const again = await post('sessions', key, { ...SMALL, count: 3 })
    expect(again).toMatchObject({ status: 201, replayed: 'true' })
    expect(idsOf(again)).toEqual(idsOf(first))
    expect(await live()).toHaveLength(3)
  })

  test('a repeated request does not show sessions that its sender may not see any more', async () => {
    await cluster.join()
    const password = 'Their-own-pass-1'
    await cluster.addUser('launched-for@example.org')
    const lead = { email: 'lead-key@example.org', password }
    const account = { ...lead, name: 'Lead', mustChangePassword: false, role: 'domain_admin' } as const
    const { id } = await cluster.api.createUser({ body: account })
    const key = newUuid()
    const request = { ...SMALL, owner: 'launched-for@example.org' }
    expect((await post('sessions', key, request, await tokenOf(lead))).status).toBe(201)
    await cluster.api.updateUser({ params: { id }, body: { role: 'user' } })
    await sql`update idempotency_keys set answered = false, claimed_at = now() - interval '61 seconds' where key = ${key}`.execute(
      store.db,
    )
    const again = await post('sessions', key, request, await tokenOf(lead))
    expect(again).toMatchObject({ status: 404, json: { code: 'session_not_found' } })
    expect(await live()).toHaveLength(1)
  })

  test('a repeated request extends no session twice, if the manager died before the answer', async () => {
    await cluster.join()
    const { id } = await cluster.launch({ maxLifetimeSeconds: 3_600 })
    await cluster.reach(id, 'RUNNING')
    const key = newUuid()
    const first = await post(`sessions/${id}/extend`, key, { seconds: 600 })
    expect(first).toMatchObject({ status: 200, replayed: null })
    await sql`update idempotency_keys set answered = false, claimed_at = '-infinity' where key = ${key}`.execute(
      store.db,
    )
    const again = await post(`sessions/${id}/extend`, key, { seconds: 600 })
    const { expiresAt } = first.json as Session
    expect(again).toMatchObject({ status: 200, replayed: 'true', json: { expiresAt } })
  })

  test('the database stores neither the created secret nor the sent password in the clear', async () => {
    const keys = [newUuid(), newUuid()] as const
    const first = await post('keypairs', keys[0], {})
    const second = await post('keypairs', keys[0], {})
    expect(second.json).toEqual(first.json)
    const { secretKey } = first.json as { secretKey: string }
    const user = { email: 'sealed@example.org', name: 'Sealed', password: 'Not-in-the-clear-1' }
    expect((await post('users', keys[1], user)).status).toBe(201)
    const { rows } = await sql<{ row: string }>`select k::text as row from idempotency_keys k`.execute(store.db)
    const all = rows.map(({ row }) => row).join('\n')
    expect(all).toContain(keys[0])
    for (const secret of [secretKey, user.password]) expect(all).not.toContain(secret)
  })

  test('a client repeats the request when the answer is lost', async () => {
    await cluster.join()
    let lost = 0
    const api = createClient({
      baseUrl: cluster.url,
      headers: () => ({ authorization: `Bearer ${token}` }),
      async fetch(url, init) {
        const reply = await fetch(url, init as RequestInit)
        if (lost++ < 2) throw new TypeError('the connection broke after the request was carried out')
        return reply
      },
      wait: () => Promise.resolve(),
    })
    const { items } = await api.createSession({ body: SMALL })
    expect(await live()).toEqual(items.map(item => item.id))
    expect(lost).toBe(3)
  })
})

test('fifty sessions in one request need hardly more statements than one', async () => {
  const agent = await cluster.join()
  await agent[Symbol.asyncDispose]()
  await cluster.api.pauseScheduling({})
  const statementsOf = async (work: () => Promise<unknown>) => {
    const asked = vi.spyOn(pg.Client.prototype, 'query')
    try {
      await work()
      const texts = asked.mock.calls.map(([query]: readonly unknown[]) =>
        typeof query === 'string' ? query : String((query as { text?: string }).text),
      )
      return texts.map(text => text.replaceAll(/\$\d+(, \$\d+)*/g, 'some'))
    } finally {
      asked.mockRestore()
    }
  }
  const create = async (count: number) => {
    const { items } = await cluster.api.createSession({ body: { ...SMALL, count } })
    expect(items).toHaveLength(count)
  }
  const ofOne = await statementsOf(() => create(1))
  // The manager also queries the database on its own, at least every five seconds; these queries must not count for a slow request.
  const byItself = new Set(await statementsOf(() => delay(6_000)))
  const countOf = (texts: readonly string[]) => texts.filter(text => !byItself.has(text)).length
  const one = countOf(ofOne)
  // Rare work of the manager itself can still fall into a slow request, but hardly into each of three.
  let fifty = Infinity
  for (let tries = 0; tries < 3 && fifty > 35; tries++)
    fifty = Math.min(fifty, countOf(await statementsOf(() => create(50))))
  await cluster.api.resumeScheduling()
  expect(fifty).toBeLessThanOrEqual(35)
  expect(fifty).toBeLessThanOrEqual(one + 10)
})
