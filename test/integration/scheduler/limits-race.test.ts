import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Device, type ResourceSlots, type UserId } from '#manager/contract'
import { readRights } from '../../../manager/sessions/rights/read-rights.ts'
import { commitPlacements } from '../../../manager/scheduler/commit.ts'
import { concentrated, fifo, plan } from '../../../manager/scheduler/plan/index.ts'
import { readGroup } from '../../../manager/scheduler/snapshot.ts'
import { readHeld, readHeldGpus } from '../../../manager/store/quotas/limits.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { grantAccess } from '../../../manager/store/quotas/resource-group-access.ts'
import { assignResourcePolicy, insertResourcePolicy } from '../../../manager/store/quotas/resource-policies.ts'
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
const GROUPS = ['default', 'second'] as const

const gpusOf = (host: string, mode: 'whole' | 'shared'): Device[] =>
  Array.from({ length: 4 }, (_, at) => ({
    uuid: `GPU-${host}-${mode}-${at}`,
    model: 'NVIDIA H100 80GB HBM3',
    slot: mode === 'whole' ? 'cuda.device' : 'cuda.shares',
    memBytes: 80 * GiB,
    mode,
    isolation: mode === 'whole' ? 'whole' : 'accounted',
    isolationReason: null,
    problem: null,
    plugin: 'nvidia',
  }))

describe('two resource groups that are scheduled at the same time', () => {
  const stack = new AsyncDisposableStack()
  let store: Store
  let ownerId: UserId

  beforeAll(async () => {
    ;({ store, ownerId } = stack.use(await openTestStore()))
    await store.db.insertInto('resource_groups').values({ name: 'second' }).execute()
    await grantAccess(store.db, 'second', { domain: 'default' })
    const settings = {
      limits: { cpu: 5000 },
      gpu_limits: [{ model: 'H100', gpus: 150 }],
      max_concurrent_sessions: 6,
      max_containers_per_session: null,
      idle_timeout_seconds: null,
      max_lifetime_seconds: null,
      allowed_storage_hosts: null,
      allowed_names: null,
      default_names: null,
      max_folders: null,
      max_folder_bytes: null,
      max_folder_files: null,
    }
    await insertResourcePolicy(store.db, 'five', settings)
    await assignResourcePolicy(store.db, 'five', { userId: ownerId })
    for (const resourceGroup of GROUPS) {
      const id = await insertAgent(store.db, resourceGroup)
      const devices = [...gpusOf(resourceGroup, 'whole'), ...gpusOf(resourceGroup, 'shared')]
      await reportCapacity(store.db, id, { cpu: 64_000, mem: 64 * GiB, 'cuda.device': 4, 'cuda.shares': 400 }, devices)
    }
  })
  afterAll(() => stack.disposeAsync())
  beforeEach(async () => {
    await store.db.deleteFrom('sessions').execute()
  })

  const enqueue = (resourceGroup: string, count: number, requested: ResourceSlots) =>
    insertWaiting(
      store.db,
      ownerId,
      Array.from({ length: count }, (_, index) => ({
        name: `${resourceGroup}-${index}-${requested.cpu}`,
        resourceGroup,
        requested,
      })),
    )

  async function decide(resourceGroup: string) {
    const { snapshot } = await readGroup(store.db, resourceGroup, presence)
    return plan(snapshot, fifo, concentrated)
  }

  const held = async () => {
    const all = await readHeld(store.db, { user: [ownerId], keypair: [], group: [], domain: ['default'] })
    expect(all.get('domain default')).toEqual(all.get(`user ${ownerId}`))
    return all.get(`user ${ownerId}`)
  }

  test.each([
    { count: 8, requested: { cpu: 900, mem: GiB }, most: { sessions: 5, cpu: 4500 } },
    { count: 8, requested: { cpu: 100, mem: GiB }, most: { sessions: 6, cpu: 600 } },
  ])('the groups together exceed no limit of a user: $most of $count in each', async ({ count, requested, most }) => {
    for (let round = 0; round < 5; round++) {
      await store.db.deleteFrom('sessions').execute()
      for (const group of GROUPS) await enqueue(group, count, requested)
      // Both have planned with the same snapshot: together far more than is allowed.
      const plans = await Promise.all(GROUPS.map(async group => ({ group, ...(await decide(group)) })))
      for (const { placements } of plans) expect(placements).toHaveLength(most.sessions)
      const committed = await Promise.all(
        plans.map(({ group, placements }) =>
          commitPlacements(store, group, placements, { presence, rights: readRights }),
        ),
      )
      expect(committed.flat()).toHaveLength(most.sessions)
      const { slots, sessions } = (await held()) ?? { slots: {}, sessions: 0 }
      expect({ sessions, cpu: slots.cpu }).toEqual(most)
      const { placements, reasons } = await decide('second')
      expect(placements).toEqual([])
      const codes = new Set([...reasons.values()].map(({ code }) => code))
      expect([...codes]).toEqual([most.sessions === 6 ? 'concurrency_limit' : 'user_policy'])
    }
  })

  test.each([
    { requested: { cpu: 100, mem: GiB, 'cuda.device': 1 }, planned: 1, amount: 1 },
    { requested: { cpu: 100, mem: GiB, 'cuda.shares': 40 }, planned: 3, amount: 120 },
  ])('the groups together exceed no limit on a model of GPU: $requested', async ({ requested, planned, amount }) => {
    for (let round = 0; round < 3; round++) {
      await store.db.deleteFrom('sessions').execute()
      for (const group of GROUPS) await enqueue(group, 4, requested)
      const plans = await Promise.all(GROUPS.map(async group => ({ group, ...(await decide(group)) })))
      for (const { placements } of plans) expect(placements).toHaveLength(planned)
      const committed = await Promise.all(
        plans.map(({ group, placements }) =>
          commitPlacements(store, group, placements, { presence, rights: readRights }),
        ),
      )
      expect(committed.flat()).toHaveLength(planned)
      const gpus = await readHeldGpus(store.db, { user: [ownerId], keypair: [], group: [], domain: [] })
      expect(gpus.get(`user ${ownerId}`)).toMatchObject([{ model: 'NVIDIA H100 80GB HBM3', isMig: false, amount }])
      const { placements, reasons } = await decide('second')
      expect(placements).toEqual([])
      expect(new Set([...reasons.values()].map(({ cause }) => cause))).toEqual(new Set(['needs_model_of_user']))
    }
  })

  test('the groups use a limit fully, with sessions of different sizes', async () => {
    await enqueue('default', 2, { cpu: 1700, mem: GiB })
    await enqueue('second', 3, { cpu: 800, mem: GiB })
    const plans = await Promise.all(GROUPS.map(async group => ({ group, ...(await decide(group)) })))
    for (const { group, placements } of plans)
      await commitPlacements(store, group, placements, { presence, rights: readRights })
    expect((await held())?.slots.cpu).toBe(5000)
  })

  test('a planned session does not start once it may no longer use the resource group', async () => {
    await enqueue('second', 1, { cpu: 100, mem: GiB })
    const { placements } = await decide('second')
    expect(placements).toHaveLength(1)
    await store.db.deleteFrom('resource_group_access').where('resource_group', '=', 'second').execute()
    expect(await commitPlacements(store, 'second', placements, { presence, rights: readRights })).toEqual([])
    expect([...(await decide('second')).reasons.values()]).toMatchObject([{ code: 'group_not_allowed' }])
    await grantAccess(store.db, 'second', { domain: 'default' })
    expect((await decide('second')).placements).toHaveLength(1)
  })
})
