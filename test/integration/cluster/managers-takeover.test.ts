import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiClient, type SessionId } from '#manager/contract'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { type ManagerProcess, type Managers, startManagers } from '../../fixtures/managers.ts'
import { type MeshAgent, scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

/** Two manager processes with the timings of production: the one whose turn it is to schedule is killed, or stopped. */
const CORES = 4
/** Promised by `docs/admin/several-managers.md`. */
const TAKEOVER_MS = 5_000

let scene: AsyncDisposableStack
let managers: Managers
let database: pg.Client
/** The manager that has the turn. */
let a: ManagerProcess
let b: ManagerProcess
let agent: MeshAgent
let atA: ApiClient
let atB: ApiClient

beforeEach(async () => {
  scene = new AsyncDisposableStack()
  managers = scene.use(await startManagers())
  a = scene.use(await managers.spawn())
  b = scene.use(await managers.spawn())
  database = new pg.Client({ connectionString: managers.databaseUrl })
  await database.connect()
  scene.defer(() => database.end())
  const { path: home } = scene.use(await temporaryDirectory())
  const engine = scriptedEngine({ capacity: { cpu: CORES * 1000, mem: 16 * 2 ** 30 } })
  agent = scene.use(await startMeshAgent({ home, engine, join: (await a.createJoinToken()).join }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  ;[{ api: atA }, { api: atB }] = [await managers.admin(a), await managers.admin(b)]
  const first = await launch(atA)
  await expect.poll(() => statusOf(atA, first)).toBe('RUNNING')
  await atA.deleteSession({ params: { id: first } })
  await expect.poll(() => statusOf(atA, first)).toBe('TERMINATED')
  if (await hasTurn(atB, b)) [a, b, atA, atB] = [b, a, atB, atA]
  expect(await hasTurn(atB, a)).toBe(true)
})
afterEach(() => scene.disposeAsync())

async function launch(api: ApiClient): Promise<SessionId> {
  const resources = { cpu: '1', mem: '256m' }
  const { items } = await api.createSession({ body: { image: 'berth/python:3.13', resources } })
  return items[0]?.id as SessionId
}
const statusOf = async (api: ApiClient, id: SessionId) => (await api.getSession({ params: { id } })).status

test('another manager takes over from a killed one within five seconds', async () => {
  await a.kill('SIGKILL')
  await expectTakeover()
})

test('another manager takes over from a hanging one within five seconds', async () => {
  await a.kill('SIGSTOP')
  await expectTakeover()
})

async function expectTakeover(): Promise<void> {
  const since = performance.now()
  const id = await launch(atB)
  await expect.poll(() => statusOf(atB, id), { interval: 20 }).toBe('RUNNING')
  const tookMs = performance.now() - since
  console.info(`another manager has scheduled after ${Math.round(tookMs)} ms`)
  expect(tookMs).toBeLessThan(TAKEOVER_MS)
}

test.each([
  ['looks at the queue', 'lock table agents in access exclusive mode'],
  ['writes what it has placed', 'lock table kernels in exclusive mode'],
])(
  'a manager that hangs while it %s does not delay the others, and places nothing twice when it continues',
  async (_what, lock) => {
    await atA.pauseScheduling()
    const ids = await Promise.all(Array.from({ length: 2 * CORES }, () => launch(atA)))
    await b.kill('SIGSTOP')
    await database.query('begin')
    await database.query(lock)
    await atA.resumeScheduling()
    await expect.poll(waitingForLocks, { interval: 10 }).toBeGreaterThan(0)
    await a.kill('SIGSTOP')
    await b.kill('SIGCONT')
    const since = await databaseTime()
    await database.query('rollback')

    const running = async () => (await Promise.all(ids.map(id => statusOf(atB, id)))).filter(is => is === 'RUNNING')
    await expect.poll(running, { interval: 20 }).toHaveLength(CORES)
    expect((await lastScheduledAt(ids)) - since).toBeLessThan(TAKEOVER_MS)
    await a.kill('SIGCONT')
    // The first manager takes part again, and its own view of the queue progresses.
    const next = await launch(atA)
    await expect.poll(async () => (await atA.getSession({ params: { id: next } })).queuePosition).toBe(CORES + 1)
    expect(await running()).toHaveLength(CORES)
    const { rows } = await database.query<{ id: SessionId; times: number }>(
      `select session_id as id, count(*)::int as times from session_events
       where session_id = any($1::uuid[]) and to_status = 'SCHEDULED' group by 1`,
      [ids],
    )
    expect(rows.map(({ times }) => times)).toEqual(Array.from({ length: CORES }, () => 1))
    expect(agent.engine.containers.size).toBe(CORES)
  },
)

async function hasTurn(api: ApiClient, { url }: ManagerProcess): Promise<boolean> {
  const { items } = await api.listManagers()
  return items.some(manager => manager.url === url && manager.schedules.includes('default'))
}

/** Milliseconds since the epoch, by the clock of the database. */
async function databaseTime(): Promise<number> {
  const { rows } = await database.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  )
  return rows[0]?.ms ?? Number.NaN
}

/** Time at which the last of these sessions was placed. Starting its container is not part of the promise. */
async function lastScheduledAt(ids: readonly SessionId[]): Promise<number> {
  const { rows } = await database.query<{ ms: number }>(
    `select extract(epoch from max(at))::float8 * 1000 as ms from session_events
     where session_id = any($1::uuid[]) and to_status = 'SCHEDULED'`,
    [ids],
  )
  return rows[0]?.ms ?? Number.NaN
}

/** Statements of managers that wait for a lock. */
async function waitingForLocks(): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "select count(*)::int from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'berth-manager'",
  )
  return rows[0]?.count ?? 0
}
