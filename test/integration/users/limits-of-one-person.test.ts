import { afterAll, beforeAll, expect, test } from 'vitest'
import { sql } from 'kysely'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { codeOf } from './account-steps.ts'

/** Bounds that ordinary use never meets: without them one person fills tables and plans for everybody. */
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
