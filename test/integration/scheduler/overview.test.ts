import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentId, SessionId, type SetUp, UserId } from '#manager/contract'
import { listAgentPage } from '../../../manager/store/agents/agent-list.ts'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { insertMinutes } from '../../../manager/store/sessions/session-stats.ts'
import { insertSessions, type NewSession } from '../../../manager/store/sessions/sessions.ts'
import { type StatsMinute } from '../../../manager/store/tables/operation.ts'
import { listIdleOf, readOverviewOf } from '../../../manager/usage/overview.ts'
import { type Caller } from '../../../manager/users/authorize.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { openTestStore, type TestStore } from '../../fixtures/test-store.ts'

/** Counts and idle GPUs of the overview, without a manager, so that the sessions do not change meanwhile. */

let opened: TestStore
let store: Store
const [ann, bob] = [newId(UserId), newId(UserId)]
const caller = (role: Caller['role'], domain = 'default'): Caller => ({
  ...{ userId: opened.ownerId, email: 'a@b.c', loginId: 'x', keypair: null, scopes: null },
  ...{ role, domain },
})
const agents = { summaries: () => Promise.resolve({ items: [], nextCursor: null, total: 0 }) }
const scheduling = { read: () => Promise.resolve({ paused: null }) }
const isSetUp: SetUp = {
  settings: { mailReady: true, publicUrl: null },
  backups: { nextAt: null, last: null },
  certificates: [],
  appsAddress: false,
}
const readSetUp = () => Promise.resolve(isSetUp)
const overviewOf = (who: Caller, query?: { setUp: boolean }) =>
  readOverviewOf({ db: store.db, agents, scheduling, readSetUp }, who, query)
const idleOf = (who: Caller, query: Partial<Parameters<typeof listIdleOf>[2]> = {}) =>
  listIdleOf(store.db, who, { minutes: 30, limit: 100, ...query })

beforeAll(async () => {
  opened = await openTestStore()
  ;({ store } = opened)
  await sql`insert into domains (name) values ('lab')`.execute(store.db)
  for (const [id, email] of [
    [ann, 'ann@example.org'],
    [bob, 'bob@example.org'],
  ] as const)
    await insertUser(store.db, { id, email, name: 'U', role: 'user', password_hash: 'x' })
})
afterAll(() => opened[Symbol.asyncDispose]())

const minute = (change: Partial<StatsMinute>): StatsMinute => ({
  ...{ samples: 60, cpuMilli: 0, cpuSeconds: 0, memBytes: 0, memPeakBytes: 0, netRxBytes: 0, netTxBytes: 0 },
  ...{ diskReadBytes: 0, diskWriteBytes: 0, scratchBytes: null, gpus: [] },
  ...change,
})
const gpu = (...use: readonly (number | null)[]) =>
  minute({ gpus: use.map((utilization, n) => ({ uuid: `GPU-${n}`, utilization, memBytes: 0 })) })

/** A running session of some hours. @param minutes statistics, by their age in minutes */
async function runs(
  owner: UserId,
  change: Partial<NewSession>,
  minutes: readonly (readonly [ago: number, StatsMinute])[],
): Promise<SessionId> {
  const id = newId(SessionId)
  const requested = { cpu: 1000, mem: 2 ** 30, 'cuda.device': 2 }
  await insertSessions(store.db, [aSessionRow(owner, { id, requested, status: 'RUNNING', ...change })])
  await sql`update sessions set started_at = now() - interval '6 hours' where id = ${id}`.execute(store.db)
  for (const [ago, stats] of minutes) await insertMinutes(store.db, [{ sessionId: id, stats }], ago * 60_000)
  return id
}

test('sessions are counted by reason beyond any page, each with its newest; a domain sees its own', async () => {
  const waiting = (code: string, domain: string) =>
    aSessionRow(ann, {
      ...{ id: newId(SessionId), status: 'PENDING', domain },
      reason: { code: code as 'capacity', message: code },
    })
  await insertSessions(store.db, [
    ...Array.from({ length: 620 }, () => waiting('capacity', 'default')),
    ...Array.from({ length: 30 }, () => waiting('user_policy', 'lab')),
  ])
  const newest = waiting('capacity', 'lab')
  await insertSessions(store.db, [newest])
  const failed = aSessionRow(bob, {
    id: newId(SessionId),
    status: 'ERROR',
    reason: { code: 'create_failed', message: '' },
  })
  const old = aSessionRow(bob, { id: newId(SessionId), status: 'ERROR', reason: { code: 'agent_lost', message: '' } })
  // A batch job whose command failed is also counted: it has no container here that ended with 0.
  const job = aSessionRow(bob, {
    ...{ id: newId(SessionId), status: 'TERMINATED', kind: 'batch' },
    reason: { code: 'exited', message: '' },
  })
  await insertSessions(store.db, [failed, old, job])
  await sql`update sessions set ended_at = now() - case when id = ${old.id} then interval '8 days' else interval '6 days' end
    where status in ('ERROR', 'TERMINATED')`.execute(store.db)
  const all = await overviewOf(caller('superadmin'))
  expect(all.waiting.total).toBe(651)
  expect(all.waiting.reasons.map(({ count, newest: one }) => [one.reason.code, count])).toEqual([
    ['capacity', 621],
    ['user_policy', 30],
  ])
  expect(all.waiting.reasons[0]?.newest.id).toBe(newest.id)
  expect(all.failed).toMatchObject({
    total: 2,
    reasons: [
      { count: 1, newest: { id: failed.id } },
      { count: 1, newest: { id: job.id } },
    ],
  })
  expect(all.agents).toEqual({ needy: 0, first: [], gpus: 0 })
  expect([all.paused, all.setUp]).toEqual([null, null])
  expect((await overviewOf(caller('superadmin'), { setUp: true })).setUp).toEqual(isSetUp)
  const lab = await overviewOf(caller('domain_admin', 'lab'), { setUp: true })
  expect([lab.waiting.total, lab.failed.total, lab.agents, lab.superadmins, lab.setUp]).toEqual([
    31,
    0,
    null,
    null,
    null,
  ])
})

test('capacity and use are those of connected agents in the resource groups that the caller may use', async () => {
  const [mine, hidden] = ['default', 'hidden']
  await store.db.insertInto('resource_groups').values({ name: hidden }).execute()
  const add = async (name: string, group: string, status: 'CONNECTED' | 'LOST' | 'REVOKED', cpu: number) => {
    const id = newId(AgentId)
    const devices = [{ uuid: `GPU-${name}` }]
    await store.db
      .insertInto('agents')
      .values({
        ...{ id, name, status, resource_group: group, public_key: 'x' },
        ...{ capacity: JSON.stringify({ cpu, 'cuda.device': 1 }), devices: JSON.stringify(devices) },
      })
      .execute()
    return id
  }
  const here = await add('here', mine, 'CONNECTED', 4_000)
  const away = await add('away', mine, 'LOST', 8_000)
  await add('gone', mine, 'REVOKED', 16_000)
  const other = await add('other', hidden, 'CONNECTED', 32_000)
  for (const [agent, status] of [
    [here, 'RUNNING'],
    [here, 'TERMINATED'],
    [away, 'RUNNING'],
    [other, 'SCHEDULED'],
  ] as const) {
    const session = aSessionRow(ann, { id: newId(SessionId), status })
    await insertSessions(store.db, [session])
    await sql`insert into kernels (id, session_id, role, status, agent_id, slots)
      values (gen_random_uuid(), ${session.id}, 'main1', ${status}, ${agent}, '{"cpu":500,"cuda.device":1}')`.execute(
      store.db,
    )
  }
  const { now, agents: ofAll } = await overviewOf(caller('superadmin'))
  expect(now).toMatchObject({
    capacity: { cpu: '36', 'cuda.device': '2' },
    occupied: { cpu: '1', 'cuda.device': '2' },
    agents: { connected: 2, lost: 1 },
  })
  expect(ofAll?.gpus).toBe(2)
  const ofDomain = await overviewOf(caller('domain_admin'))
  expect(ofDomain.now).toMatchObject({
    capacity: { cpu: '4', 'cuda.device': '1' },
    occupied: { cpu: '0.5', 'cuda.device': '1' },
    agents: { connected: 1, lost: 1 },
  })
  expect((await overviewOf(caller('domain_admin', 'lab'))).now).toMatchObject({
    capacity: {},
    agents: { connected: 0, lost: 0 },
  })
  // An agent with two problems comes before an agent with one; the agents that are well are left out.
  await sql`update agents set problem = 'x', devices = '[{"uuid":"GPU-other","problem":"Xid 79"}]' where id = ${other}`.execute(
    store.db,
  )
  const page = { problems: true, order: 'problems', descending: true, limit: 5 } as const
  const { rows, total } = await listAgentPage(store.db, page)
  expect([rows.map(({ name }) => name), total]).toEqual([['other', 'away'], 2])
})

test('GPUs that do nothing are found by their figures, however old the session, and counted by owner', async () => {
  // Busy 3 hours ago, idle since: one record in an hour is enough, because there were no others.
  const forgotten = await runs(ann, { name: 'forgotten' }, [
    [180, gpu(90, 0)],
    [179, gpu(0, 4.9)],
    [1, gpu(0, 0)],
  ])
  await runs(ann, { name: 'half', requested: { cpu: 1, mem: 1, 'cuda.shares': 50 } }, [
    [60, gpu(0)],
    [1, gpu(0)],
  ])
  await runs(bob, { name: 'busy' }, [
    [60, gpu(0, 0)],
    [1, gpu(0, 60)],
  ])
  await runs(bob, { name: 'unknown' }, [
    [60, gpu(0, 0)],
    [1, gpu(0, null)],
  ])
  await runs(bob, { name: 'just begun' }, [[2, gpu(0, 0)]])
  await runs(bob, { name: 'away' }, [[100, gpu(0, 0)]])
  await runs(bob, { name: 'lab', domain: 'lab' }, [
    [40, gpu(0, 0)],
    [1, gpu(0, 0)],
  ])
  const all = await idleOf(caller('superadmin'))
  expect(all.items.map(({ ownerEmail, gpus, sessions }) => [ownerEmail, gpus, sessions.map(one => one.name)])).toEqual([
    ['ann@example.org', 2.5, ['forgotten', 'half']],
    ['bob@example.org', 2, ['lab']],
  ])
  expect(all).toMatchObject({ total: 2, sessions: 3, gpus: 4.5, nextCursor: null })
  const [of] = all.items[0]?.sessions ?? []
  expect(of?.id).toBe(forgotten)
  // Two GPUs for 179 minutes, from the begin of that minute.
  expect(of?.gpuHours).toBeGreaterThan((2 * 178) / 60)
  expect(of?.gpuHours).toBeLessThan((2 * 181) / 60)
  expect((await idleOf(caller('superadmin'), { minutes: 120 })).items[0]?.sessions).toHaveLength(1)
  const first = await idleOf(caller('superadmin'), { limit: 1 })
  expect(first).toMatchObject({ total: 2, gpus: 4.5, items: [{ ownerEmail: 'ann@example.org' }] })
  const rest = await idleOf(caller('superadmin'), { limit: 1, cursor: first.nextCursor ?? '' })
  expect(rest).toMatchObject({ items: [{ ownerEmail: 'bob@example.org' }], nextCursor: null })
  expect((await idleOf(caller('domain_admin', 'lab'))).items.map(({ ownerEmail }) => ownerEmail)).toEqual([
    'bob@example.org',
  ])
  expect((await overviewOf(caller('superadmin'))).idle).toMatchObject({ total: 2, sessions: 3, owners: { length: 2 } })
  // The forgotten session works again.
  await insertMinutes(store.db, [{ sessionId: forgotten, stats: gpu(80, 0) }], 0)
  expect((await idleOf(caller('superadmin'))).items[0]?.sessions.map(one => one.name)).not.toContain('forgotten')
})
