import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from 'kysely'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { hashToken } from '../../../manager/users/secrets.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { signedApi, startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { codeOf, PASSWORD } from './account-steps.ts'

/** Limits that ordinary use never reaches: without them, one person could fill tables and plans for everybody. */
let manager: TestManager
let cluster: SessionsCluster
const stack = new AsyncDisposableStack()
beforeAll(async () => {
  manager = stack.use(await startTestManager())
  cluster = stack.use(await startSessionsCluster())
})
afterAll(() => stack.disposeAsync())

const storeOf = ({ source }: { source: TestManager['source'] }): Promise<Store> =>
  openToRead({ ...source, log: silentLog })

test('one person has at most 1,000 keypairs, also when several are asked for at once', async () => {
  await using store = await storeOf(manager)
  const { id, api } = await manager.addUser(`keys-${Date.now()}@example.org`)
  await sql`insert into keypairs (access_key, user_id, sealed_secret, rate_limit)
    select 'AKIA' || translate(lpad(n::text, 16, '0'), '0189', 'ABCD'), ${id}::uuid, 'sealed', 1 from generate_series(1, 998) n`.execute(
    store.db,
  )
  const codes = await Promise.all(Array.from({ length: 6 }, () => codeOf(api.createKeypair({ body: {} }))))
  expect(codes.toSorted()).toEqual(['ok', 'ok', ...Array<string>(4).fill('over_person_limit')])
})

test('one keypair has at most 50 sign-ins, also when many begin at once, and ends none of the person', async () => {
  await using store = await storeOf(manager)
  const { id, api } = await manager.addUser(`signs-${Date.now()}@example.org`)
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  const signIn = () => manager.api().loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })
  const first = (await signIn()).token ?? ''
  using stream = await openEventStream(manager.url, { token: first })
  await more(store, { id, count: 49, keypair: accessKey })
  await sql`update logins set last_used_at = now() - interval '2 hours' where user_id = ${id}::uuid
    and token_hash = ${hashToken(first)}`.execute(store.db)
  const tokens = await Promise.all(Array.from({ length: 4 }, async () => (await signIn()).token ?? ''))
  await stream.ended
  expect(await countOf(store, id)).toEqual({ ofPerson: 1, withKeypairs: 50 })
  const codes = await Promise.all(tokens.map(token => codeOf(manager.api(token).me())))
  expect(new Set(codes)).toEqual(new Set(['ok']))
  expect(await codeOf(manager.api(first).me())).toBe('not_signed_in')
  expect(await codeOf(api.me())).toBe('ok')
})

test('one person has at most 200 sign-ins with the password: a new one ends the one that has been unused longest', async () => {
  await using store = await storeOf(manager)
  const email = `often-${Date.now()}@example.org`
  const { id, api } = await manager.addUser(email)
  await more(store, { id, count: 199, keypair: null })
  const signIn = () => manager.api().login({ body: { email, password: PASSWORD, kind: 'token' } })
  const { token } = await signIn()
  expect(await countOf(store, id)).toEqual({ ofPerson: 200, withKeypairs: 0 })
  expect(await Promise.all([codeOf(manager.api(token ?? '').me()), codeOf(api.me())])).toEqual(['ok', 'ok'])
})

test('however many sign-ins an earlier version has made, the account can be closed, and the next sign-in goes on', async () => {
  await using store = await storeOf(manager)
  const email = `before-${Date.now()}@example.org`
  const { id, api } = await manager.addUser(email)
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  await more(store, { id, count: 2_500, keypair: accessKey })
  const { token } = await manager.api().loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } })
  expect(await countOf(store, id)).toEqual({ ofPerson: 1, withKeypairs: 1_501 })
  expect(await codeOf(manager.api(token ?? '').me())).toBe('ok')
  expect(await codeOf(api.updateKeypair({ params: { accessKey }, body: { active: false } }))).toBe('ok')
  expect(await countOf(store, id)).toEqual({ ofPerson: 1, withKeypairs: 0 })
  await more(store, { id, count: 2_500, keypair: null })
  const { api: admin } = await manager.signIn()
  expect(await admin.endUserLogins({ params: { id } })).toEqual({ ended: 2_501 })
})

test('a sign-in with a keypair counts as a request with it', async () => {
  const { api } = await manager.addUser(`counts-${Date.now()}@example.org`)
  const { accessKey, secretKey } = await api.createKeypair({ body: {} })
  const { api: admin } = await manager.signIn()
  await admin.updateKeypair({ params: { accessKey }, body: { rateLimit: 3 } })
  const signIn = () => codeOf(manager.api().loginWithKeypair({ body: { accessKey, secretKey, kind: 'token' } }))
  expect(await codeOf(signedApi(manager.url, { accessKey, secretKey }).me())).toBe('ok')
  expect([await signIn(), await signIn(), await signIn()]).toEqual(['ok', 'ok', 'rate_limited'])
})

/** Adds sign-ins that have been unused for longer than the existing ones. */
async function more(
  { db }: Store,
  { id, count, keypair }: { id: string; count: number; keypair: string | null },
): Promise<void> {
  await sql`insert into logins (id, user_id, token_hash, kind, address, last_used_at, expires_at, ends_at, keypair)
    select gen_random_uuid(), ${id}::uuid, sha256(gen_random_uuid()::text::bytea), 'token', '::1', now() - interval '1 hour',
      now() + interval '1 day', now() + interval '1 day', ${keypair} from generate_series(1, ${count})`.execute(db)
}

async function countOf({ db }: Store, id: string): Promise<{ ofPerson: number; withKeypairs: number } | undefined> {
  const { rows } = await sql<{ ofPerson: number; withKeypairs: number }>`
    select count(*) filter (where keypair is null)::int as "ofPerson", count(keypair)::int as "withKeypairs"
    from logins where user_id = ${id}::uuid`.execute(db)
  return rows[0]
}

test('at most 10,000 downloads are asked for within four hours', async () => {
  await using store = await storeOf(manager)
  const { id, api } = await manager.addUser(`loads-${Date.now()}@example.org`)
  const folder = await api.createFolder({ body: { name: 'data' } })
  await api.makeDirectory({ params: { id: folder.id }, body: { path: 'd' } })
  const ask = () => codeOf(api.createDownload({ params: { id: folder.id }, body: { paths: ['d'] } }))
  expect(await ask()).toBe('ok')
  await sql`insert into downloads (ticket_hash, folder_id, user_id, login_id, keypair, paths, expires_at)
    select sha256(n::text::bytea), folder_id, user_id, login_id, keypair, paths, expires_at
    from downloads, generate_series(1, 9999) n where user_id = ${id}::uuid`.execute(store.db)
  expect(await ask()).toBe('over_person_limit')
})

test('at most 1,000 sessions of a person wait, also when many are asked for at once', async () => {
  await cluster.join()
  const startsAt = new Date(Date.now() + 86_400_000).toISOString()
  const later = { image: 'berth/python:3.13', count: 50, startsAt }
  for (let round = 0; round < 19; round++) await cluster.api.createSession({ body: later })
  const codes = await Promise.all(Array.from({ length: 3 }, () => codeOf(cluster.api.createSession({ body: later }))))
  expect(codes.toSorted()).toEqual(['ok', 'over_person_limit', 'over_person_limit'])
})
