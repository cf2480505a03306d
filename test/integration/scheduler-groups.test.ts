import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AgentId, KernelId, type Reason, SessionId, UserId } from '#manager/contract'
import { silentLog } from '../../manager/log.ts'
import { startScheduler } from '../../manager/scheduler/tick.ts'
import { saveJoinedAgent, saveReportedState } from '../../manager/store/agents.ts'
import { replaceImages } from '../../manager/store/images.ts'
import { insertKernels } from '../../manager/store/kernels.ts'
import { newId } from '../../manager/store/new-id.ts'
import { openStore, type Store } from '../../manager/store/open-store.ts'
import { grantAccess } from '../../manager/store/resource-group-access.ts'
import { insertSessions } from '../../manager/store/sessions.ts'
import { insertUser } from '../../manager/store/users.ts'
import { aSessionRow } from '../fixtures/session-rows.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'
import { PYTHON } from '../fixtures/scripted-agent.ts'

const reason: Reason = { code: 'requested', message: 'asked for' }
const GROUPS = ['default', 'a', 'b', 'c'] as const
const BROKEN = ['default', 'b']

describe('a resource group that cannot be scheduled', () => {
  const stack = new AsyncDisposableStack()
  const agents = new Map<string, AgentId>()
  const sessions = new Map<string, SessionId>()
  let store: Store

  beforeAll(async () => {
    const dataDir = stack.use(await temporaryDirectory()).path
    store = stack.use(await openStore({ dataDir, log: silentLog }))
    const ownerId = newId(UserId)
    await insertUser(store.db, { id: ownerId, email: 'a@b.c', name: 'A', role: 'user', password_hash: 'x' })
    for (const resourceGroup of GROUPS) {
      const [agentId, sessionId] = [newId(AgentId), newId(SessionId)]
      agents.set(resourceGroup, agentId)
      sessions.set(resourceGroup, sessionId)
      if (resourceGroup !== 'default') {
        await store.db.insertInto('resource_groups').values({ name: resourceGroup }).execute()
        await grantAccess(store.db, resourceGroup, { domain: 'default' })
      }
      await saveJoinedAgent(store.db, { id: agentId, name: resourceGroup, publicKey: resourceGroup, resourceGroup })
      await saveReportedState(store.db, agentId, {
        capacity: { cpu: 64_000, mem: 2 ** 36 },
        devices: [],
        networkIsolation: 'full',
        networkIsolationReason: null,
        version: '1',
        engineVersion: '29',
      })
      await replaceImages(store.db, agentId, [PYTHON])
      const requested = { cpu: 1000, mem: 2 ** 30 }
      await insertSessions(store.db, [
        aSessionRow(ownerId, {
          id: sessionId,
          name: resourceGroup,
          resourceGroup,
          status: 'PENDING',
          reason,
          image: 'berth/python:3.13',
          imageDigest: PYTHON.id,
          requested,
        }),
      ])
      await insertKernels(store.db, [{ id: newId(KernelId), sessionId, status: 'PENDING', slots: requested }])
    }
  })
  afterAll(() => stack.disposeAsync())

  test('keeps no session of another group waiting', async () => {
    const broken = new Set(BROKEN.map(group => agents.get(group)))
    const started: SessionId[] = []
    await using scheduler = startScheduler({
      store,
      presence: {
        isReady(id) {
          if (broken.has(id)) throw new Error('a fault in this group alone')
          return true
        },
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
})
