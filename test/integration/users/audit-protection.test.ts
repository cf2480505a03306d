import { randomBytes, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { defined } from '#base/defined'
import { type ApiClient, type RouteName, ROUTES, type RouteSpec, SessionId, UserId } from '#manager/contract'
import { casesOf } from '../../../build/bootstrap/test-sets.ts'
import { createAuditLog } from '../../../manager/audit/audit-log.ts'
import { createAuditRecorder } from '../../../manager/audit/recorder.ts'
import { silentLog } from '../../../manager/log.ts'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { bodiesOf } from './marked-bodies.ts'

/** Recorders count within windows of these lengths: the manager's, and one of a test. None ends by itself here, however slow the machine is. */
const MINUTE_MS = 60_000
const WINDOW_MS = 61_000
let endWindow: (() => void) | undefined

const stack = new AsyncDisposableStack()
let manager: TestManager
let admin: Awaited<ReturnType<TestManager['signIn']>>
beforeAll(async () => {
  const { setTimeout } = globalThis
  const held = (run: () => void, ms?: number, ...given: unknown[]) => {
    if (ms === WINDOW_MS) endWindow = run
    return setTimeout(run, ms === MINUTE_MS || ms === WINDOW_MS ? 24 * 3_600_000 : ms, ...given)
  }
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(held as typeof setTimeout)
  stack.defer(() => spy.mockRestore())
  manager = stack.use(await startTestManager())
  admin = await manager.signIn()
})
afterAll(() => stack.disposeAsync())

describe('the protection of the audit log', () => {
  test('the log cannot be changed, not even by the database user of the manager', async () => {
    await using store = await storeOf(manager)
    await expect(sql`update audit_log set actor = 'nobody'`.execute(store.db)).rejects.toThrow('append-only')
    await expect(sql`delete from audit_log`.execute(store.db)).rejects.toThrow('append-only')
  })

  test('entries that the database refuses are kept for a while; dropped entries of strangers are counted', async () => {
    await using store = await storeOf(manager)
    const { rows } = await sql<{ id: number }>`select max(id) as id from audit_log`.execute(store.db)
    const since = rows[0]?.id ?? 0
    let broken = true
    const db = new Proxy(store.db, {
      get: (target, name) => {
        if (name === 'insertInto' && broken) throw Object.assign(new Error('gone'), { code: '57P01' })
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    {
      await using recorder = createAuditRecorder({ store: { db }, log: silentLog, refusedPerMinute: 3 })
      const written = recorder.record({ action: 'first', result: 'ok', detail: { text: 'nul \0 and half \ud800' } })
      await recorder.record({ action: 'second', result: 'ok' })
      broken = false
      await written
      for (let i = 0; i < 5; i++) await recorder.record({ action: 'knock', target: `${i}`, result: 'not_signed_in' })
    }
    const { rows: after } = await sql<{ action: string; detail: object }>`
      select action, detail from audit_log where id > ${since} order by id`.execute(store.db)
    expect(after.map(row => row.action)).toEqual(['first', 'second', 'knock', 'knock', 'knock', 'auditSuppressed'])
    expect(after.at(-1)?.detail).toEqual({ refused: 2 })
  })

  test('failing requests of a signed-in caller do not fill the log: equal ones are counted, different ones limited', async () => {
    const failing = await manager.addUser('failing@example.org')
    const fail = async (id: string) => {
      const gone = failing.api.deleteSession({ params: { id: SessionId.parse(id) } })
      await expect(gone).rejects.toMatchObject({ code: 'session_not_found' })
    }
    const rowsOf = async (actor: string) => (await admin.api.listAuditLog({ query: { actor, limit: 500 } })).items
    for (let i = 0; i < 150; i++) await fail('01900000-0000-7000-8000-000000000001')
    const other = await manager.addUser('failing-too@example.org')
    const body = { email: 'x@example.org', name: 'X', password: 'Their-own-pass-1' }
    await expect(other.api.createUser({ body })).rejects.toMatchObject({ code: 'forbidden' })
    const before = await rowsOf('failing@example.org')
    expect(before.filter(({ action }) => action === 'deleteSession')).toHaveLength(1)
    for (let i = 0; i < 200; i++) await fail(`01900000-0000-7000-8000-${String(i).padStart(12, '0')}`)
    expect((await rowsOf('failing@example.org')).length).toBeLessThan(130)
    expect((await rowsOf('failing-too@example.org')).map(({ action }) => action)).toContain('createUser')
  })

  interface Exporter {
    readonly id: UserId
    readonly api: ApiClient
    readonly accessKey: string
  }
  test.each<[string, 'sign-in' | 'keypair', string, (who: Exporter) => Promise<unknown>]>([
    ['is signed out', 'sign-in', 'not_signed_in', ({ api }) => api.logout()],
    [
      'has another role',
      'sign-in',
      'not_signed_in',
      ({ id }) => admin.api.updateUser({ params: { id }, body: { role: 'user' } }),
    ],
    [
      'signed, and has another role',
      'keypair',
      'forbidden',
      ({ id }) => admin.api.updateUser({ params: { id }, body: { role: 'user' } }),
    ],
    [
      'signed with a keypair that is deactivated',
      'keypair',
      'not_signed_in',
      ({ api, accessKey }) => api.updateKeypair({ params: { accessKey }, body: { active: false } }),
    ],
  ])('an export stops when its reader %s', async (_what, way, code, end) => {
    await using store = await storeOf(manager)
    const email = `exports-${randomUUID()}@example.org`
    const { id: userId, api } = await manager.addUser(email, 'superadmin')
    const id = UserId.parse(userId)
    await sql`insert into audit_log (action, result) select 'filler', 'ok' from generate_series(1, 2500)`.execute(
      store.db,
    )
    const { accessKey } = await api.createKeypair({ body: {} })
    const loginId = (await api.listLogins()).items.find(({ isThis }) => isThis)?.id ?? null
    const credential = way === 'keypair' ? { loginId: null, keypair: accessKey } : { loginId, keypair: null }
    const caller = { userId: id, email, role: 'superadmin', domain: 'default', scopes: null, ...credential } as const
    const pieces = createAuditLog(store.db).export(caller, { format: 'jsonl' })
    expect((await pieces.next()).done).toBe(false)
    await end({ id, api, accessKey })
    await expect(pieces.next()).rejects.toMatchObject({ code })
  })

  test('counts are written at the end of the minute', async () => {
    await using store = await storeOf(manager)
    await using recorder = createAuditRecorder({ store, log: silentLog, windowMs: WINDOW_MS })
    const [actor_id, actor] = [newId(UserId), 'counted@example.org']
    const refused = { actor_id, actor, action: 'knock', result: 'forbidden', address: '10.0.0.1', detail: { a: 1 } }
    for (let i = 0; i < 4; i++) await recorder.record({ ...refused, target: 'session:1' })
    await recorder.record({ ...refused, target: 'session:2' })
    for (let i = 0; i < 2; i++) await recorder.record({ ...refused, target: 'session:1', result: 'ok' })
    const rows = async () => {
      const { rows } = await sql<{ target: string; result: string; detail: object; address: string }>`
        select target, result, detail, address from audit_log where actor = ${actor} order by id`.execute(store.db)
      return rows
    }
    endWindow?.()
    const row = { result: 'forbidden', detail: { a: 1 }, address: '10.0.0.1' }
    await expect.poll(rows).toEqual([
      { ...row, target: 'session:1' },
      { ...row, target: 'session:2' },
      { ...row, target: 'session:1', result: 'ok' },
      { ...row, target: 'session:1', result: 'ok' },
      { ...row, target: 'session:1', detail: { a: 1, repeats: 3 } },
    ])
    // The response time must not show a caller without a sign-in whether a row was written.
    const anybody = { ...refused, actor_id: null, target: 'user:1' }
    for (let i = 0; i < 2; i++) await recorder.record(anybody)
    expect((await rows()).filter(({ target }) => target === 'user:1')).toHaveLength(2)
    // Then counting begins again.
    await recorder.record({ ...refused, target: 'session:1' })
    expect(await rows()).toHaveLength(8)
  })

  test('the log has no secret of any request, whatever the route and field', async () => {
    const marker = `secret-${randomBytes(8).toString('hex')}`
    const user = await manager.addUser('marked@example.org')
    const routes = Object.entries(ROUTES) as [RouteName, RouteSpec][]
    const tokens = { [admin.token]: 'superadmin', [user.token]: 'user' }
    let sent = 0
    const succeeded = new Set<RouteName>()
    const wrong: string[] = []
    for (const [name, route] of routes.filter(([, { method }]) => method !== 'GET')) {
      if (name === 'logout') continue
      for (const token of [...Object.keys(tokens), `berth_${marker}`, undefined]) {
        const url = manager.url + route.path.replace(':id', user.id).replace(/:\w+/g, 'none')
        const headers = {
          'x-berth-origin-secret': marker,
          'x-berth-grant': marker,
          cookie: `berth_1=${marker}`,
          'user-agent': marker,
          'x-forwarded-for': marker,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        }
        // A query field that no route accepts.
        if (token === admin.token || token === undefined)
          await rawRequest(`${url}?token=${marker}`, { method: route.method, headers })
        const bodies = route.body ? bodiesOf(route.body, marker) : [undefined]
        // A request without a right to its route is refused before its body is looked at: one with all fields marked shows that.
        const role = token === undefined ? undefined : tokens[token]
        const isRefused = route.access !== 'none' && role !== 'superadmin' && role !== route.access
        // The superadmin sends every field: of the same bodies from others, some show that it does not depend on the sender.
        const some = role === 'superadmin' ? bodies : casesOf(bodies, 3)
        for (const body of isRefused ? bodies.slice(0, 1) : some) {
          const reply = await rawRequest(url, { method: route.method, headers, ...defined({ body }) })
          sent++
          if (reply.status < 300) succeeded.add(name)
          if (reply.status >= 500 && reply.json?.code === 'internal') wrong.push(`${name}: ${JSON.stringify(body)}`)
        }
      }
      // Undo the effects of the request: the next route is tried with the original accounts.
      await admin.api
        .updateUser({ params: { id: user.id }, body: { active: true, role: 'user' } })
        .catch(() => undefined)
    }
    expect(wrong).toEqual([])
    expect(sent).toBeGreaterThan(500)
    expect([...succeeded]).toEqual(
      expect.arrayContaining(['createUser', 'createKeypair', 'createDomain', 'createResourceGroup']),
    )
    await using store = await storeOf(manager)
    const { rows } = await sql<{ row: string }>`
      select audit_log::text as row from audit_log where audit_log::text like ${`%${marker}%`}`.execute(store.db)
    expect(rows).toEqual([])
    const { rows: passwords } = await sql<{ row: string }>`
      select audit_log::text as row from audit_log where audit_log::text ~* 'Their-own-pass|Correct-horse|berth_[\\w-]{20}|nonce|argon'`.execute(
      store.db,
    )
    expect(passwords).toEqual([])
  })
})

/** Another connection to the same database. */
async function storeOf({ dataDir, config }: TestManager): Promise<Store> {
  return await openToRead({ dataDir, databaseUrl: config.databaseUrl, log: silentLog })
}
