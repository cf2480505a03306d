import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  AgentId,
  KernelId,
  type Reason,
  ResourceGroupSpec,
  type ResourceSlots,
  SessionId,
  UserId,
} from '#manager/contract'
import { silentLog } from '../../manager/log.ts'
import { commitPlacements } from '../../manager/scheduler/commit.ts'
import { createResourceGroups } from '../../manager/scheduler/groups.ts'
import { concentrated, fifo, type Placement, plan } from '../../manager/scheduler/plan/index.ts'
import { readGroup } from '../../manager/scheduler/snapshot.ts'
import { startScheduler } from '../../manager/scheduler/tick.ts'
import { readUsage, saveJoinedAgent, saveReportedState } from '../../manager/store/agents.ts'
import { replaceImages } from '../../manager/store/images.ts'
import { insertKernels } from '../../manager/store/kernels.ts'
import { findReservation } from '../../manager/store/resource-groups.ts'
import { newId } from '../../manager/store/new-id.ts'
import { openStore, type Store } from '../../manager/store/open-store.ts'
import { insertSessions } from '../../manager/store/sessions.ts'
import { insertUser } from '../../manager/store/users.ts'
import { aSessionRow } from '../fixtures/session-rows.ts'
import { BACKENDS, createDatabase, temporaryDirectory } from '../fixtures/manager.ts'
import { gpus, PYTHON } from '../fixtures/scripted-agent.ts'

const presence = { isReady: () => true }
const reason: Reason = { code: 'requested', message: 'asked for' }
const GiB = 2 ** 30

describe.each(BACKENDS)('placements on %s PostgreSQL', (_name, serverUrl) => {
  const stack = new AsyncDisposableStack()
  let store: Store
  let ownerId: UserId
  let agentId: AgentId

  beforeAll(async () => {
    const dataDir = stack.use(await temporaryDirectory()).path
    const databaseUrl = serverUrl === undefined ? undefined : stack.use(await createDatabase(serverUrl)).url
    store = stack.use(await openStore({ dataDir, databaseUrl, log: silentLog }))
    ownerId = newId(UserId)
    await insertUser(store.db, { id: ownerId, email: 'a@b.c', name: 'A', role: 'user', password_hash: 'x' })
  })
  afterAll(() => stack.disposeAsync())
  beforeEach(async () => {
    await store.db.deleteFrom('sessions').execute()
    await store.db.deleteFrom('agents').execute()
    agentId = newId(AgentId)
    await saveJoinedAgent(store.db, { id: agentId, name: 'one', publicKey: 'key', resourceGroup: 'default' })
  })

  async function report(capacity: ResourceSlots, devices = gpus(0)) {
    const rest = { networkIsolation: 'full', networkIsolationReason: null, version: '1', engineVersion: '29' } as const
    await saveReportedState(store.db, agentId, { capacity, devices, ...rest })
    await replaceImages(store.db, agentId, [PYTHON])
  }

  const enqueueNamed = (name: string, requested: ResourceSlots) => enqueue(1, requested, () => name)

  async function enqueue(
    count: number,
    requested: ResourceSlots,
    nameOf = (index: number) => `session-${index}`,
  ): Promise<void> {
    const ids = Array.from({ length: count }, () => newId(SessionId))
    await insertSessions(
      store.db,
      ids.map((id, index) =>
        aSessionRow(ownerId, {
          id,
          name: nameOf(index),
          status: 'PENDING',
          reason,
          image: 'berth/python:3.13',
          imageDigest: PYTHON.id,
          requested,
        }),
      ),
    )
    await insertKernels(
      store.db,
      ids.map(sessionId => ({ id: newId(KernelId), sessionId, status: 'PENDING', slots: requested })),
    )
  }

  const decide = async (): Promise<readonly Placement[]> => {
    const { snapshot } = await readGroup(store.db, 'default', presence)
    return plan(snapshot, fifo, concentrated).placements
  }
  const commit = (placements: readonly Placement[]) => commitPlacements(store, 'default', placements, presence)

  test('two schedulers that planned the same give nothing out twice', async () => {
    await report({ cpu: 4000, mem: 8 * GiB, 'cuda.device': 2 }, gpus(2))
    await enqueue(2, { cpu: 1000, mem: GiB, 'cuda.device': 1 })
    const placements = await decide()
    expect(placements).toHaveLength(2)
    const committed = await Promise.all([commit(placements), commit(placements), commit(placements)])
    expect(committed.flat()).toHaveLength(2)
    expect((await readUsage(store.db, [agentId])).slots(agentId)).toEqual({ cpu: 2000, mem: 2 * GiB, 'cuda.device': 2 })
  })

  test('a placement that no longer fits is left out', async () => {
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

  test('a device is taken by its UUID, and free again with the end of its kernel', async () => {
    await report({ cpu: 8000, mem: 8 * GiB, 'cuda.shares': 100 }, gpus(1, 'cuda.shares'))
    await enqueue(3, { cpu: 1000, mem: GiB, 'cuda.shares': 40 })
    await commit(await decide())
    expect((await readUsage(store.db, [agentId])).device(agentId, 'GPU-0')).toEqual({ slot: 'cuda.shares', amount: 80 })
    await store.db.updateTable('kernels').set({ status: 'TERMINATED' }).where('status', '=', 'SCHEDULED').execute()
    expect((await readUsage(store.db, [agentId])).device(agentId, 'GPU-0')).toBeUndefined()
    expect(await decide()).toHaveLength(1)
  })

  test('a group plans as its settings say, from the next pass on', async () => {
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
    await groups.update('default', { active: true })
    await commit((await planned()).placements)
    expect((await planned()).snapshot.usage?.get(ownerId)).toEqual({ cpu: 1000, mem: GiB })
    await groups.update('default', { sequencer: 'fifo' })
    const taken = ResourceGroupSpec.parse({ name: 'default' })
    await expect(groups.create(taken, 'default')).rejects.toMatchObject({ code: 'resource_group_exists' })
    await expect(groups.update('none', {})).rejects.toMatchObject({ code: 'resource_group_not_found' })
  })

  test('the one reservation outlives the manager, and ends when its session starts', async () => {
    const groups = createResourceGroups({ store, onChanged: () => undefined })
    await groups.update('default', { options: { reserveAfterSeconds: 0 } })
    await report({ cpu: 4000, mem: 8 * GiB })
    await enqueue(1, { cpu: 3000, mem: GiB })
    await commit(await decide())
    await enqueueNamed('large', { cpu: 4000, mem: GiB })
    const run = async () => {
      await using scheduler = startScheduler({
        store,
        presence,
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
    // The next one in line has it now.
    expect((await findReservation(store.db, 'default'))?.sessionId).not.toBe(held?.sessionId)
    const { status } = await store.db
      .selectFrom('sessions')
      .select('status')
      .where('name', '=', 'large')
      .executeTakeFirstOrThrow()
    expect(status).toBe('SCHEDULED')
    await groups.update('default', { options: {} })
  })

  test('a paused or revoked agent takes nothing, even if it was planned', async () => {
    await report({ cpu: 4000, mem: 8 * GiB })
    await enqueue(1, { cpu: 1000, mem: GiB })
    const placements = await decide()
    await store.db.updateTable('agents').set({ schedulable: false }).where('id', '=', agentId).execute()
    expect(await commit(placements)).toEqual([])
  })

  test('a thousand placements are committed in well under four seconds', async () => {
    await report({ cpu: 10_000_000, mem: 100_000 * GiB })
    await enqueue(1000, { cpu: 1000, mem: GiB })
    const placements = await decide()
    const start = performance.now()
    expect(await commit(placements)).toHaveLength(1000)
    expect(performance.now() - start).toBeLessThan(4_000)
  })
})
