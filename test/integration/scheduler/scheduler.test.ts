import { setTimeout as wait } from 'node:timers/promises'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  type AgentId,
  KernelId,
  ResourceGroupSpec,
  type ResourceSlots,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { readRights } from '../../../manager/sessions/rights/read-rights.ts'
import { commitPlacements } from '../../../manager/scheduler/commit.ts'
import { createResourceGroups } from '../../../manager/quotas/resource-groups.ts'
import { concentrated, fifo, type Placement, plan } from '../../../manager/scheduler/plan/index.ts'
import { readGroup } from '../../../manager/scheduler/snapshot.ts'
import { startScheduler } from '../../../manager/scheduler/tick.ts'
import { readUsage } from '../../../manager/store/agents/agents.ts'
import { deletePause, holdPause, writePause } from '../../../manager/store/operation/pause.ts'
import { findReservation } from '../../../manager/store/quotas/resource-groups.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { gpus } from '../../fixtures/scripted-agent.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, insertWaiting, openTestStore, reportCapacity } from '../../fixtures/test-store.ts'

const presence = {
  isReady: () => true,
  orphans: () => [],
  engineIsDown: () => false,
  isUnfit: () => false,
  storage: () => new Set<string>(),
  architectures: () => undefined,
  clusterAddress: () => undefined,
  restricts: () => false,
}
const GiB = 2 ** 30

describe('placements', () => {
  const stack = new AsyncDisposableStack()
  let store: Store
  let ownerId: UserId
  let agentId: AgentId

  beforeAll(async () => {
    ;({ store, ownerId } = stack.use(await openTestStore()))
  })
  afterAll(() => stack.disposeAsync())
  beforeEach(async () => {
    await store.db.deleteFrom('sessions').execute()
    await store.db.deleteFrom('agents').execute()
    agentId = await insertAgent(store.db)
  })

  const report = (capacity: ResourceSlots, devices = gpus(0)) => reportCapacity(store.db, agentId, capacity, devices)

  const enqueueNamed = (name: string, requested: ResourceSlots) => enqueue(1, requested, () => name)

  const enqueue = (count: number, requested: ResourceSlots, nameOf = (index: number) => `session-${index}`) =>
    insertWaiting(
      store.db,
      ownerId,
      Array.from({ length: count }, (_, index) => ({ name: nameOf(index), requested })),
    )

  const decide = async (): Promise<readonly Placement[]> => {
    const { snapshot } = await readGroup(store.db, 'default', presence)
    return plan(snapshot, fifo, concentrated).placements
  }
  const commit = (placements: readonly Placement[]) =>
    commitPlacements(store, 'default', placements, { presence, rights: readRights })

  test('two schedulers with the same plan place nothing twice', async () => {
    await report({ cpu: 4000, mem: 8 * GiB, 'cuda.device': 2 }, gpus(2))
    await enqueue(2, { cpu: 1000, mem: GiB, 'cuda.device': 1 })
    const placements = await decide()
    expect(placements).toHaveLength(2)
    const committed = await Promise.all([commit(placements), commit(placements), commit(placements)])
    expect(committed.flat()).toHaveLength(2)
    expect((await readUsage(store.db, [agentId])).slots(agentId)).toEqual({ cpu: 2000, mem: 2 * GiB, 'cuda.device': 2 })
  })

  test('written placements are published even if later ones could not be written', async () => {
    await report({ cpu: 300_000, mem: 300 * GiB })
    await enqueue(201, { cpu: 1000, mem: GiB })
    const placements = await decide()
    expect(placements).toHaveLength(201)
    let transactions = 0
    const transaction: Store['transaction'] = work =>
      transactions++ === 0 ? store.transaction(work) : Promise.reject(new Error('Connection terminated unexpectedly'))
    const failing = { ...store, db: store.db, now: store.now, transaction }
    const told: unknown[] = []
    const committing = commitPlacements(failing, 'default', placements, {
      presence,
      rights: readRights,
      onCommitted: placed => void told.push(...placed),
    })
    await expect(committing).rejects.toThrow('terminated')
    expect(told).toHaveLength(200)
  })

  test('a placement that no longer fits is dropped', async () => {
    await report({ cpu: 2000, mem: 8 * GiB })
    await enqueue(2, { cpu: 1500, mem: GiB })
    const [first] = await decide()
    const { snapshot } = await readGroup(store.db, 'default', presence)
    const second = snapshot.pending.find(session => session.id !== first?.sessionId)
    if (!first || !second) throw new Error('two sessions wait')
    const both = await Promise.all([commit([first]), commit([{ ...first, sessionId: second.id }])])
    expect(both.flat()).toHaveLength(1)
    expect(await commit([{ ...first, sessionId: second.id }])).toEqual([])
    expect(await decide()).toEqual([])
  })

  test.each([
    ['moved to another group', { resource_group: 'elsewhere' }],
    ['revoked', { status: 'REVOKED' }],
    ['closed', { schedulable: false }],
  ] as const)('nothing is placed on an agent that was %s since the plan', async (_, change) => {
    await report({ cpu: 2000, mem: 8 * GiB })
    await enqueue(1, { cpu: 1000, mem: GiB })
    const placements = await decide()
    expect(placements).toHaveLength(1)
    const before = { resource_group: 'default', status: 'CONNECTED', schedulable: true } as const
    const setAgent = (values: object) => store.db.updateTable('agents').set(values).where('id', '=', agentId).execute()
    await store.db
      .insertInto('resource_groups')
      .values({ name: 'elsewhere' })
      .onConflict(on => on.doNothing())
      .execute()
    await setAgent(change)
    expect(await commit(placements)).toEqual([])
    await setAgent(before)
    expect(await commit(placements)).toHaveLength(1)
  })

  test('a device is occupied by its UUID, and free again when its kernel ends', async () => {
    await report({ cpu: 8000, mem: 8 * GiB, 'cuda.shares': 100 }, gpus(1, 'cuda.shares'))
    await enqueue(3, { cpu: 1000, mem: GiB, 'cuda.shares': 40 })
    await commit(await decide())
    expect((await readUsage(store.db, [agentId])).device(agentId, 'GPU-0')).toEqual({ slot: 'cuda.shares', amount: 80 })
    await store.db.updateTable('kernels').set({ status: 'TERMINATED' }).where('status', '=', 'SCHEDULED').execute()
    expect((await readUsage(store.db, [agentId])).device(agentId, 'GPU-0')).toBeUndefined()
    expect(await decide()).toHaveLength(1)
  })

  test('a changed setting of a group applies from the next pass on', async () => {
    const groups = createResourceGroups({ store, onChanged: () => undefined })
    await report({ cpu: 1000, mem: 8 * GiB })
    await enqueue(2, { cpu: 1000, mem: GiB })
    const planned = async () => {
      const { snapshot, sequencer, selector } = await readGroup(store.db, 'default', presence)
      return { snapshot, ...plan(snapshot, sequencer, selector) }
    }
    const oldest = await planned()
    await groups.update('default', { sequencer: 'lifo', selector: 'round-robin' })
    const newest = await planned()
    expect(
      [oldest, newest]
        .map(({ placements }) => placements)
        .flat()
        .map(p => p.sessionId),
    ).toEqual(oldest.snapshot.pending.map(session => session.id))
    await groups.update('default', { sequencer: 'drf', selector: 'concentrated', active: false })
    const closed = await planned()
    expect([...closed.reasons.values()].map(({ code }) => code)).toEqual(['group_inactive', 'group_inactive'])
    const notice = 'New disks until noon.'
    await groups.update('default', { notice })
    const [first] = (await planned()).reasons.values()
    expect(first).toMatchObject({ note: notice, message: `An admin has closed this resource group: ${notice}` })
    await groups.update('default', { active: true })
    await commit((await planned()).placements)
    expect((await planned()).snapshot.usage).toEqual([{ ownerId, projectId: null, slots: { cpu: 1000, mem: GiB } }])
    await groups.update('default', { sequencer: 'fifo' })
    const taken = ResourceGroupSpec.parse({ name: 'default' })
    await expect(groups.create(taken, 'default')).rejects.toMatchObject({ code: 'resource_group_exists' })
    await expect(groups.update('none', {})).rejects.toMatchObject({ code: 'resource_group_not_found' })
  })

  test('passes in a row leave as much time as they take, and no trigger is lost', async () => {
    await report({ cpu: 1000, mem: 8 * GiB })
    let passes = 0
    await using scheduler = startScheduler({
      store,
      presence,
      rights: readRights,
      start: () => undefined,
      cancel: () => Promise.resolve(),
      hint: () => undefined,
      log: silentLog,
      slowTickMs: 3_600_000,
      isPaused: async () => {
        passes++
        await wait(50)
        return false
      },
    })
    await scheduler.settled()
    passes = 0
    const begun = performance.now()
    const tookMs = () => performance.now() - begun
    while (tookMs() < 1_000 || passes < 2) {
      scheduler.trigger()
      await wait(5)
    }
    expect(passes).toBeLessThanOrEqual(1 + tookMs() / 100)
    await enqueue(1, { cpu: 1000, mem: GiB })
    scheduler.trigger()
    await scheduler.settled()
    expect(await decide()).toEqual([])
  })

  test('the one reservation survives the manager, and ends when its session starts', async () => {
    const groups = createResourceGroups({ store, onChanged: () => undefined })
    await groups.update('default', { options: { reserveAfterSeconds: 0 } })
    await report({ cpu: 4000, mem: 8 * GiB })
    await enqueue(1, { cpu: 3000, mem: GiB })
    await commit(await decide())
    await enqueueNamed('large', { cpu: 4000, mem: GiB })
    const run = async (there = presence) => {
      await using scheduler = startScheduler({
        store,
        presence: there,
        rights: readRights,
        start: () => undefined,
        cancel: () => Promise.resolve(),
        hint: () => undefined,
        log: silentLog,
      })
      await scheduler.settled()
    }
    await run()
    const held = await findReservation(store.db, 'default')
    expect(held).toMatchObject({ agentId, devices: [] })
    await enqueueNamed('small', { cpu: 500, mem: GiB })
    // A manager that starts runs a pass before any agent has come back.
    await run({ ...presence, isReady: () => false })
    expect(await findReservation(store.db, 'default')).toEqual(held)
    await run()
    expect(await findReservation(store.db, 'default')).toEqual(held)
    const reasons = await store.db
      .selectFrom('sessions')
      .select(['name', 'reason'])
      .where('status', '=', 'PENDING')
      .execute()
    expect(Object.fromEntries(reasons.map(row => [row.name, row.reason.code]))).toEqual({
      large: 'reserved',
      small: 'queued_behind',
    })
    await store.db.updateTable('kernels').set({ status: 'TERMINATED' }).where('status', '=', 'SCHEDULED').execute()
    await run()
    // The next session in the queue has it now.
    expect((await findReservation(store.db, 'default'))?.sessionId).not.toBe(held?.sessionId)
    const { status } = await store.db
      .selectFrom('sessions')
      .select('status')
      .where('name', '=', 'large')
      .executeTakeFirstOrThrow()
    expect(status).toBe('SCHEDULED')
    await groups.update('default', { options: {} })
  })

  test('an expected start is known while every session in the way has a maximum lifetime, whatever its status', async () => {
    await report({ cpu: 4000, mem: 8 * GiB })
    await insertWaiting(store.db, ownerId, [{ name: 'first', requested: { cpu: 4000 }, maxLifetimeSeconds: 600 }])
    await commit(await decide())
    const started = sql`started_at = now(), expires_at = now() + interval '10 minutes'`
    const steps: [SessionStatus, RawBuilder<unknown>, RawBuilder<unknown>][] = [
      ['SCHEDULED', sql`version = version`, sql`attempt = attempt`],
      ['PREPARING', sql`version = version`, sql`start_by = now() + interval '65 seconds'`],
      ['PULLING', sql`version = version`, sql`attempt = attempt`],
      ['RUNNING', started, sql`attempt = attempt`],
      ['TERMINATING', sql`version = version`, sql`attempt = attempt`],
    ]
    const told: number[] = []
    for (const [status, session, kernel] of steps) {
      await sql`update sessions set status = ${status}, status_at = now(), ${session}`.execute(store.db)
      await sql`update kernels set status = ${status}, ${kernel}`.execute(store.db)
      const { snapshot } = await readGroup(store.db, 'default', presence)
      told.push(snapshot.agents[0]?.occupants?.[0]?.latestEnd ?? Infinity)
    }
    expect(told.every(Number.isFinite)).toBe(true)
    expect(told).toEqual(told.toSorted((a, b) => b - a))
    const known = async () => (await readGroup(store.db, 'default', presence)).snapshot.agents[0]?.occupants?.length
    // A kernel that has finished holds nothing that could become free.
    await sql`update kernels set status = 'TERMINATED'`.execute(store.db)
    expect(await known()).toBe(0)
    // Adopted after a restore, so nobody ends it.
    await sql`update sessions set status = 'RUNNING', expires_at = null`.execute(store.db)
    await sql`update kernels set status = 'RUNNING'`.execute(store.db)
    expect(await known()).toBe(0)
  })

  test('after a pause nothing is placed, not even what was planned before', async () => {
    await report({ cpu: 4000, mem: 8 * GiB })
    await enqueue(1, { cpu: 1000, mem: GiB })
    const placements = await decide()
    const told: string[] = []
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<undefined>()
    const { promise: isLetGo, resolve: letGo } = Promise.withResolvers<undefined>()
    const underWay = store.transaction(async trx => {
      expect(await holdPause(trx)).toBeNull()
      hold(undefined)
      await isLetGo
      told.push('placed')
    })
    await isHeld
    const pause = store.transaction(trx => writePause(trx, 'by_admin')).then(() => told.push('paused'))
    await expect.poll(waitsForLock).toBe(true)
    letGo(undefined)
    await Promise.all([underWay, pause])
    expect(told).toEqual(['placed', 'paused'])
    expect(await commit(placements)).toEqual([])
    await deletePause(store.db)
    expect(await commit(placements)).toHaveLength(1)
  })

  const waitsForLock = async () => {
    const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and not granted`.execute(store.db)
    return rows.length > 0
  }

  test('a planned session is not placed once its resource group, owner, project or domain is deactivated', async () => {
    await report({ cpu: 4000, mem: 8 * GiB })
    await enqueue(1, { cpu: 1000, mem: GiB })
    await sql`insert into group_members (group_id, user_id) select id, ${ownerId}::uuid from groups`.execute(store.db)
    await sql`update sessions set group_id = (select id from groups)`.execute(store.db)
    const placements = await decide()
    for (const table of ['resource_groups', 'users', 'groups', 'domains'] as const) {
      await store.db.updateTable(table).set({ active: false }).execute()
      expect(await commit(placements), table).toEqual([])
      await store.db.updateTable(table).set({ active: true }).execute()
    }
    await store.db.deleteFrom('group_members').where('user_id', '=', ownerId).execute()
    expect(await commit(placements)).toEqual([])
    await sql`insert into group_members (group_id, user_id) select id, ${ownerId}::uuid from groups`.execute(store.db)
    expect(await commit(placements)).toHaveLength(1)
  })

  test('a paused or revoked agent gets nothing, even if it was planned', async () => {
    await report({ cpu: 4000, mem: 8 * GiB })
    await enqueue(1, { cpu: 1000, mem: GiB })
    const placements = await decide()
    await store.db.updateTable('agents').set({ schedulable: false }).where('id', '=', agentId).execute()
    expect(await commit(placements)).toEqual([])
  })

  test('a thousand placements are committed in seconds: ten times as many as a hundred take not much more than ten times as long', async () => {
    await report({ cpu: 10_000_000, mem: 100_000 * GiB })
    const commitMs = async (count: number) => {
      await enqueue(count, { cpu: 1000, mem: GiB }, index => `one-of-${count}-${index}`)
      const placements = await decide()
      const start = performance.now()
      expect(await commit(placements)).toHaveLength(count)
      return performance.now() - start
    }
    const hundredMs = await commitMs(100)
    expect(await commitMs(1000)).toBeLessThan(Math.max(10_000, 40 * hundredMs))
  })

  test('a session over several hosts waits while all networks between hosts are in use, also if the last one was taken since the plan', async () => {
    const second = await insertAgent(store.db, 'default')
    for (const id of [agentId, second]) await reportCapacity(store.db, id, { cpu: 4000, mem: 8 * GiB })
    const addresses = new Map([agentId, second].map((id, index) => [id, `192.168.7.${index + 1}`]))
    const networked = { ...presence, clusterAddress: (id: AgentId) => addresses.get(id) }
    const planned = async () => plan((await readGroup(store.db, 'default', networked)).snapshot, fifo, concentrated)
    const ask = async (name: string) => {
      const gang = { name, requested: { cpu: 1500, mem: GiB }, clusterSize: 3, clusterMode: 'multi-host' } as const
      const [id] = await insertWaiting(store.db, ownerId, [gang])
      if (!id) throw new Error('no session')
      await store.db.deleteFrom('kernels').where('session_id', '=', id).execute()
      const roles = ['main1', 'sub1', 'sub2']
      await insertKernels(
        store.db,
        roles.map(role => ({ id: newId(KernelId), sessionId: id, role, status: 'PENDING', slots: gang.requested })),
      )
      return id
    }
    const first = await ask('first')
    const { placements } = await planned()
    expect(placements).toMatchObject([{ sessionId: first }])
    // Running sessions that hold networks and nothing else.
    const hold = async (from: number, to: number) => {
      const rows = Array.from({ length: to - from + 1 }, (_, index) =>
        aSessionRow(ownerId, { name: `holds-${from + index}` }),
      )
      for (let start = 0; start < rows.length; start += 1000)
        await insertSessions(store.db, rows.slice(start, start + 1000))
      await sql`update sessions set cluster_network = substr(name, 7)::int where name like 'holds-%'`.execute(store.db)
    }
    await hold(0, 4093)
    expect((await readGroup(store.db, 'default', networked)).snapshot.freeHostNetworks).toBe(1)
    await hold(4094, 4094)
    expect(await commit(placements)).toEqual([])
    const waiting = await planned()
    expect(waiting.placements).toEqual([])
    expect(waiting.reasons.get(first)).toMatchObject({ code: 'no_host_network' })
    await store.db.updateTable('sessions').set({ status: 'TERMINATED' }).where('cluster_network', '=', 17).execute()
    expect(await commit((await planned()).placements)).toHaveLength(1)
    const row = await store.db
      .selectFrom('sessions')
      .select('cluster_network')
      .where('id', '=', first)
      .executeTakeFirst()
    // The one that was never used comes before the one that has just become free.
    expect(row?.cluster_network).toBe(4095)
  })
})
