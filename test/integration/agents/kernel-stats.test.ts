import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AgentId,
  KernelId,
  SessionId,
  type SessionStats,
  type SessionStatus,
  type UserId,
} from '#manager/contract'
import { createKernelStats } from '../../../manager/agents/kernel-stats.ts'
import { createLiveStats } from '../../../manager/stats/live.ts'
import { createSessionChanges } from '../../../manager/sessions/changes.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

describe('figures of kernels', () => {
  const stack = new AsyncDisposableStack()
  let store: Store
  let ownerId: UserId
  let agentId: AgentId

  beforeAll(async () => {
    ;({ store, ownerId } = stack.use(await openTestStore()))
    agentId = await insertAgent(store.db)
  })
  afterAll(() => stack.disposeAsync())

  /** How many of two figures reach clients if the record of the session is gone before the second. */
  async function toldOfTwo(status: SessionStatus): Promise<number> {
    const [id, kernelId] = [newId(SessionId), newId(KernelId)]
    await insertSessions(store.db, [aSessionRow(ownerId, { id, status })])
    await insertKernels(store.db, [{ id: kernelId, sessionId: id, status, slots: {}, agentId, attempt: 1 }])
    let told = 0
    const events = { publish: () => undefined, publishStats: () => void (told += 1) }
    const figures = createKernelStats({
      store,
      events,
      changes: createSessionChanges({ store, events }),
      live: createLiveStats(store.now),
      recorder: { add: () => undefined },
    })
    const traffic = { netRxBytes: 0, netTxBytes: 0, diskReadBytes: 0, diskWriteBytes: 0, scratchBytes: null, gpus: [] }
    const stats: SessionStats = {
      at: new Date().toISOString(),
      cpuMilli: 1,
      memBytes: 1,
      memPeakBytes: 1,
      ...traffic,
    }
    await figures.onStats(agentId, [{ kernelId, stats }])
    await store.db.deleteFrom('sessions').where('id', '=', id).execute()
    await figures.onStats(agentId, [{ kernelId, stats }])
    return told
  }

  test('figures of a running session are published without a query for its owner each time', async () => {
    expect(await toldOfTwo('RUNNING')).toBe(2)
  })

  test('figures that arrive after the end of a session are added, and the session is forgotten', async () => {
    expect(await toldOfTwo('TERMINATED')).toBe(1)
  })
})
