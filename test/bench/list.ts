import { sql } from 'kysely'
import { type ApiClient, SessionId } from '#manager/contract'
import { silentLog } from '../../manager/log.ts'
import { newId } from '../../manager/store/new-id.ts'
import { openStore } from '../../manager/store/open-store.ts'
import { type Db } from '../../manager/store/schema.ts'
import { startTestManager, temporaryDirectory } from '../fixtures/manager.ts'
import { median, quantile, round } from './statistics.ts'

const SESSIONS = 100_000
const LIVE = 2_000
const USERS = 100
const REQUESTS = 60

/** Duration of a list among a hundred thousand sessions: of an admin, of one of a hundred users, filtered, and at a late page. */
export async function benchList(stack: AsyncDisposableStack) {
  const dataDir = stack.use(await temporaryDirectory()).path
  {
    await using first = await startTestManager({ dataDir })
    await first.addUser('mira@example.com')
  }
  {
    await using store = await openStore({ dataDir, log: silentLog })
    await fill(store.db)
  }
  const manager = stack.use(await startTestManager({ dataDir }))
  const { api } = await manager.signIn()
  const mira = await manager.signIn({ email: 'mira@example.com', password: 'Their-own-pass-1' })
  const deep = await cursorAt(api, 40)
  const figures = {
    adminNewest: await latency(() => api.listSessions({ query: { limit: 100 } })),
    adminDeep: await latency(() => api.listSessions({ query: { limit: 100, cursor: deep } })),
    adminLive: await latency(() => api.listSessions({ query: { limit: 100, status: 'live' } })),
    adminByName: await latency(() => api.listSessions({ query: { limit: 100, name: 'session-777' } })),
    userNewest: await latency(() => mira.api.listSessions({ query: { limit: 100 } })),
    userLive: await latency(() => mira.api.listSessions({ query: { limit: 100, status: 'live' } })),
    one: await latency(() => api.getSession({ params: { id: deep } })),
  }
  return { list: { sessions: SESSIONS, live: LIVE, ...figures } }
}

async function latency(request: () => Promise<unknown>): Promise<{ p50Ms: number; p99Ms: number }> {
  const times: number[] = []
  for (let n = 0; n < REQUESTS; n++) {
    const start = performance.now()
    await request()
    times.push(performance.now() - start)
  }
  return { p50Ms: round(median(times), 1), p99Ms: round(quantile(times, 0.99), 1) }
}

async function cursorAt(api: ApiClient, pages: number): Promise<SessionId> {
  let cursor = newId(SessionId)
  for (let page = 0; page < pages; page++) {
    const { nextCursor } = await api.listSessions({ query: { limit: 500, cursor } })
    cursor = SessionId.parse(nextCursor)
  }
  return cursor
}

/** Ids by time, one user for each hundredth; the youngest live. */
async function fill(db: Db): Promise<void> {
  await sql`insert into users (id, email, name, role, password_hash)
    select gen_random_uuid(), 'user-' || n || '@example.com', 'User', 'user', 'x' from generate_series(2, ${USERS}) n`.execute(
    db,
  )
  await sql`
    with owners as (select id, row_number() over (order by email) - 1 as nth from users where role = 'user'),
    made as (
      insert into sessions (id, name, owner_id, status, reason, resource_group, image, requested, shmem_bytes, environ, apps,
                            created_at, status_at, ended_at)
      select (lpad(to_hex(1760000000000 + n), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
             'session-' || n, owners.id,
             case when n >= ${SESSIONS - LIVE} then 'RUNNING' else 'TERMINATED' end,
             '{"code":"started","message":"Its container runs."}', 'default', 'berth/python:3.13',
             '{"cpu":1000,"mem":1073741824}', 67108864, '{}', '[]', now(), now(),
             case when n >= ${SESSIONS - LIVE} then null else now() end
      from generate_series(0, ${SESSIONS - 1}) n join owners on owners.nth = n % ${USERS}
      returning id, status)
    insert into kernels (id, session_id, role, status, slots)
    select gen_random_uuid(), id, 'main1', status, '{"cpu":1000,"mem":1073741824}' from made`.execute(db)
  await sql`vacuum analyze sessions`.execute(db)
  await sql`vacuum analyze kernels`.execute(db)
}
