import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type GroupId, SessionId, USAGE_DIMENSIONS, type UserId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { openStore, type Store } from '../../../manager/store/open-store.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'

const stack = new AsyncDisposableStack()
let manager: TestManager
let admin: ApiClient
let ada: { id: string; api: ApiClient }
let project: GroupId
let store: Store

/** A session of Ada: 2 cores, 4 GiB and half a GPU, from one moment to another. */
async function ran(from: string, to: string | null, cpuSeconds?: number): Promise<void> {
  const id = newId(SessionId)
  const requested = { cpu: 2000, mem: 4 * 2 ** 30, 'cuda.shares': 50 }
  const status = to === null ? 'RUNNING' : 'TERMINATED'
  await insertSessions(store.db, [aSessionRow(ada.id as UserId, { id, requested, status, groupId: project })])
  await sql`update sessions set started_at = ${from}, ended_at = ${to} where id = ${id}`.execute(store.db)
  if (cpuSeconds === undefined) return
  await sql`insert into session_stats_minutes (session_id, minute, stats)
    values (${id}, ${from}, ${JSON.stringify({ cpuSeconds, samples: 60 })})`.execute(store.db)
}

beforeAll(async () => {
  manager = stack.use(await startTestManager())
  admin = (await manager.signIn()).api
  ada = await manager.addUser('ada@localhost')
  project = (await ada.api.me()).user.groups[0]?.id as GroupId
  const { source } = manager
  store = stack.use(await openStore({ ...source, log: silentLog, migrate: false }))
  // Six hours on the 2nd (UTC), of which two are on the 3rd in Seoul, and the night to the 5th.
  await ran('2026-03-02T11:00:00Z', '2026-03-02T17:00:00Z', 21_600)
  await ran('2026-03-04T22:00:00Z', '2026-03-05T01:00:00Z')
})
afterAll(() => stack.disposeAsync())

/** Statistics that these sessions lack. */
const UNMEASURED = { gpuIdle: null, memIdle: null }
const NO_IO = { readBytes: 0, writtenBytes: 0, receivedBytes: 0, sentBytes: 0 }
const MARCH = { from: '2026-03-02T00:00:00Z', to: '2026-03-05T12:00:00Z' } as const

test('usage counts on the days on which the session ran, and the days between are empty', async () => {
  const { items } = await ada.api.getUsageHistory({ query: { by: 'day', scope: 'mine', timeZone: 'UTC', ...MARCH } })
  expect(items).toEqual([
    {
      at: '2026-03-02T00:00:00.000Z',
      sessions: 1,
      cpuHours: 12,
      memGibHours: 24,
      gpuHours: 3,
      cpuIdle: 0.5,
      ...UNMEASURED,
      ...NO_IO,
    },
    {
      at: '2026-03-03T00:00:00.000Z',
      sessions: 0,
      cpuHours: 0,
      memGibHours: 0,
      gpuHours: 0,
      cpuIdle: null,
      ...UNMEASURED,
      ...NO_IO,
    },
    {
      at: '2026-03-04T00:00:00.000Z',
      sessions: 1,
      cpuHours: 4,
      memGibHours: 8,
      gpuHours: 1,
      cpuIdle: null,
      ...UNMEASURED,
      ...NO_IO,
    },
    {
      at: '2026-03-05T00:00:00.000Z',
      sessions: 1,
      cpuHours: 2,
      memGibHours: 4,
      gpuHours: 0.5,
      cpuIdle: null,
      ...UNMEASURED,
      ...NO_IO,
    },
  ])
})

test('by the hour, a session counts in the hours in which it ran', async () => {
  const { items } = await ada.api.getUsageHistory({
    query: { by: 'hour', scope: 'mine', from: '2026-03-02T10:00:00Z', to: '2026-03-02T12:30:00Z' },
  })
  expect(items.map(({ at, cpuHours, gpuHours }) => [at, cpuHours, gpuHours])).toEqual([
    ['2026-03-02T10:00:00.000Z', 0, 0],
    ['2026-03-02T11:00:00.000Z', 2, 0.5],
    ['2026-03-02T12:00:00.000Z', 2, 0.5],
  ])
})

test('days begin at midnight of the time zone, and weeks on Monday', async () => {
  const seoul = await ada.api.getUsageHistory({
    query: {
      by: 'day',
      scope: 'mine',
      timeZone: 'Asia/Seoul',
      from: '2026-03-02T00:00:00Z',
      to: '2026-03-03T00:00:00Z',
    },
  })
  expect(seoul.items.map(({ at, cpuHours }) => [at, cpuHours])).toEqual([
    ['2026-03-01T15:00:00.000Z', 8],
    ['2026-03-02T15:00:00.000Z', 4],
  ])
  const weeks = await ada.api.getUsageHistory({ query: { by: 'week', scope: 'mine', timeZone: 'UTC', ...MARCH } })
  expect(weeks.items).toMatchObject([{ at: '2026-03-02T00:00:00.000Z', sessions: 2, cpuHours: 18 }])
})

test('a member sees the sums of a project, an admin all of it, and others nothing', async () => {
  const query = { by: 'week', scope: 'mine', timeZone: 'UTC', ...MARCH } as const
  expect((await admin.getUsageHistory({ query })).items).toMatchObject([{ sessions: 0 }])
  expect((await admin.getUsageHistory({ query: { ...query, scope: 'all' } })).items).toMatchObject([{ sessions: 2 }])
  expect((await ada.api.getUsageHistory({ query: { ...query, groupId: project } })).items).toMatchObject([
    { sessions: 2 },
  ])
  await expect(ada.api.getUsageHistory({ query: { ...query, scope: 'all' } })).rejects.toMatchObject({
    code: 'forbidden',
  })
  const { id } = await admin.createGroup({ body: { domain: 'default', name: 'closed-circle' } })
  await expect(ada.api.getUsageHistory({ query: { ...query, groupId: id } })).rejects.toMatchObject({
    code: 'group_not_found',
  })
})

test.each([
  ['a range that ends before it begins', { from: MARCH.to, to: MARCH.from }],
  ['more periods than can be read at once', { from: '2025-01-01T00:00:00Z', to: MARCH.to }],
  ['an unknown time zone', { ...MARCH, timeZone: "UTC'; select 1" }],
  ['an offset, which PostgreSQL reads the other way round', { ...MARCH, timeZone: '+01:00' }],
])('%s is refused', async (_what, change) => {
  const query = { by: 'day', scope: 'mine', timeZone: 'UTC', ...change } as const
  await expect(ada.api.getUsageHistory({ query })).rejects.toMatchObject({ code: 'bad_request' })
})

test('a report adds up the same figures as the history, by whatever it is asked for', async () => {
  const query = { from: MARCH.from, to: MARCH.to }
  const history = await admin.getUsageHistory({ query: { ...query, by: 'day', scope: 'all' } })
  const sum = (items: readonly { readonly cpuHours: number; readonly gpuHours: number }[]) => [
    items.reduce((total, { cpuHours }) => total + cpuHours, 0),
    items.reduce((total, { gpuHours }) => total + gpuHours, 0),
  ]
  const all = await admin.listUsageReports({ query })
  expect([Date.parse(all.from), Date.parse(all.to)]).toEqual([Date.parse(query.from), Date.parse(query.to)])
  for (const by of USAGE_DIMENSIONS) {
    const { items, total, sums } = await admin.getUsageReport({ query: { ...query, by } })
    expect(sum(items), by).toEqual(sum(history.items))
    const wasted = items.flatMap(({ gpuWastedHours }) => gpuWastedHours ?? [])
    const together = wasted.reduce((total, hours) => total + hours, 0)
    expect(sums.gpuWastedHours, by).toEqual(wasted.length === 0 ? null : (expect.closeTo(together, 4) as number))
    const measured = items.filter(({ gpuIdle }) => gpuIdle !== null).reduce((total, one) => total + one.gpuHours, 0)
    expect(sums.gpuMeasuredHours, by).toBeCloseTo(measured, 4)
    expect(all.items.find(one => one.by === by)).toEqual({ by, items, total, sums })
  }
  const { items } = await admin.getUsageReport({ query: { ...query, by: 'user' } })
  expect(items).toMatchObject([
    {
      key: ada.id,
      name: 'ada@localhost',
      sessions: 2,
      cpuHours: 18,
      memGibHours: 36,
      gpuHours: 4.5,
      cpuIdle: 0.5,
      ...UNMEASURED,
    },
  ])
  // Only the time within the period counts, to the second.
  const hour = await admin.getUsageReport({
    query: { by: 'image', from: '2026-03-02T16:30:00Z', to: '2026-03-02T18:00:00Z' },
  })
  expect(hour.items).toMatchObject([{ sessions: 1, cpuHours: 1, gpuHours: 0.25 }])
  for (const refused of [ada.api.getUsageReport({ query: {} }), ada.api.listUsageReports({ query: {} })]) {
    await expect(refused).rejects.toMatchObject({ code: 'forbidden' })
  }
  await expect(admin.getUsageReport({ query: { from: MARCH.to, to: MARCH.from } })).rejects.toMatchObject({
    code: 'bad_request',
  })
})
