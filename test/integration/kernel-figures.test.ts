import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AgentId, KernelId, SessionId, type SessionStats, type SessionStatus, UserId } from '#manager/contract'
import { createKernelFigures } from '../../manager/agents/kernel-figures.ts'
import { createLiveFigures } from '../../manager/agents/live.ts'
import { silentLog } from '../../manager/log.ts'
import { createSessionChanges } from '../../manager/sessions/changes.ts'
import { saveJoinedAgent } from '../../manager/store/agents.ts'
import { insertKernels } from '../../manager/store/kernels.ts'
import { newId } from '../../manager/store/new-id.ts'
import { openStore, type Store } from '../../manager/store/open-store.ts'
import { insertSessions } from '../../manager/store/sessions.ts'
import { insertUser } from '../../manager/store/users.ts'
import { BACKENDS, createDatabase, temporaryDirectory } from '../fixtures/manager.ts'

describe.each(BACKENDS)('figures of kernels on %s PostgreSQL', (_name, serverUrl) => {
  const stack = new AsyncDisposableStack()
  const [ownerId, agentId] = [newId(UserId), newId(AgentId)]
  let store: Store

  beforeAll(async () => {
    const dataDir = stack.use(await temporaryDirectory()).path
    const databaseUrl = serverUrl === undefined ? undefined : stack.use(await createDatabase(serverUrl)).url
    store = stack.use(await openStore({ dataDir, databaseUrl, log: silentLog }))
    await insertUser(store.db, { id: ownerId, email: 'a@b.c', name: 'A', role: 'user', password_hash: 'x' })
    await saveJoinedAgent(store.db, { id: agentId, name: 'one', publicKey: 'key', resourceGroup: 'default' })
  })
  afterAll(() => stack.disposeAsync())

  /** How many of two figures reach clients if the record of the session is gone before the second. */
  async function toldOfTwo(status: SessionStatus): Promise<number> {
    const [id, kernelId] = [newId(SessionId), newId(KernelId)]
    const reason = { code: 'started', message: 'It runs.' } as const
    const rest = { imageDigest: null, requested: {}, shmemBytes: 0, environ: {}, startupCommand: null, apps: [] }
    await insertSessions(store.db, [
      { id, name: id, ownerId, status, reason, resourceGroup: 'default', image: 'x', ...rest },
    ])
    await insertKernels(store.db, [{ id: kernelId, sessionId: id, status, slots: {}, agentId, attempt: 1 }])
    let told = 0
    const events = { publish: () => undefined, publishStats: () => void (told += 1) }
    const figures = createKernelFigures({
      store,
      events,
      changes: createSessionChanges({ store, events }),
      live: createLiveFigures(),
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

  test('that come while the session runs are told without asking whose they are each time', async () => {
    expect(await toldOfTwo('RUNNING')).toBe(2)
  })

  test('that come after the end of the session count, and nothing is remembered of it', async () => {
    expect(await toldOfTwo('TERMINATED')).toBe(1)
  })
})
