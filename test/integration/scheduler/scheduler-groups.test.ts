import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AgentId, type SessionId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { readRights } from '../../../manager/sessions/rights/read-rights.ts'
import { startScheduler } from '../../../manager/scheduler/tick.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { listGroupsToSchedule } from '../../../manager/store/sessions/queue.ts'
import { grantAccess } from '../../../manager/store/quotas/resource-group-access.ts'
import { insertAgent, insertWaiting, openTestStore, reportCapacity } from '../../fixtures/test-store.ts'

const GROUPS = ['default', 'a', 'b', 'c'] as const
const BROKEN = ['default', 'b']

describe('a resource group that cannot be scheduled', () => {
  const stack = new AsyncDisposableStack()
  const agents = new Map<string, AgentId>()
  const sessions = new Map<string, SessionId>()
  let store: Store

  beforeAll(async () => {
    const opened = stack.use(await openTestStore())
    store = opened.store
    const { ownerId } = opened
    for (const resourceGroup of GROUPS) {
      if (resourceGroup !== 'default') {
        await store.db.insertInto('resource_groups').values({ name: resourceGroup }).execute()
        await grantAccess(store.db, resourceGroup, { domain: 'default' })
      }
      const agentId = await insertAgent(store.db, resourceGroup)
      agents.set(resourceGroup, agentId)
      await reportCapacity(store.db, agentId, { cpu: 64_000, mem: 2 ** 36 })
      const requested = { cpu: 1000, mem: 2 ** 30 }
      const [sessionId] = await insertWaiting(store.db, ownerId, [{ name: resourceGroup, resourceGroup, requested }])
      if (sessionId) sessions.set(resourceGroup, sessionId)
    }
  })
  afterAll(() => stack.disposeAsync())

  test('it delays no session of another group', async () => {
    const broken = new Set(BROKEN.map(group => agents.get(group)))
    const started: SessionId[] = []
    await using scheduler = startScheduler({
      store,
      rights: readRights,
      presence: {
        isReady(id) {
          if (broken.has(id)) throw new Error('a fault in this group alone')
          return true
        },
        orphans: () => [],
        engineIsDown: () => false,
        isUnfit: () => false,
        storage: () => new Set<string>(),
        architectures: () => undefined,
        clusterAddress: () => undefined,
        restricts: () => false,
      },
      start: id => void started.push(id),
      cancel: () => Promise.resolve(),
      hint: () => undefined,
      log: silentLog,
      slowTickMs: 60_000,
    })
    await scheduler.settled()
    expect(new Set(started)).toEqual(new Set(['a', 'c'].map(group => sessions.get(group))))
  })

  test('a group that Slurm runs is not planned, even if a reservation of before is left', async () => {
    await store.db.insertInto('resource_groups').values({ name: 'slurm', engine: 'slurm' }).execute()
    const agentId = agents.get('default')
    const sessionId = sessions.get('default')
    if (!agentId || !sessionId) throw new Error('no agent or session')
    const reservation = { resource_group: 'slurm', session_id: sessionId, agent_id: agentId, devices: '[]' }
    await store.db.insertInto('reservations').values(reservation).execute()
    expect(await listGroupsToSchedule(store.db)).not.toContain('slurm')
  })
})
