import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AgentId } from '#manager/contract'
import { startAgentRemovals } from '../../../manager/agents/removals.ts'
import { type AgentUpdatesDeps, startAgentUpdates } from '../../../manager/agents/updates.ts'
import { ALL_JOBS } from '../../../manager/cluster/job-locks.ts'
import { silentLog } from '../../../manager/log.ts'
import { findAgent, setAgent } from '../../../manager/store/agents/agents.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

/** Updates and removals of agents of which a step fails. */
let store: Store
const opened = new AsyncDisposableStack()
beforeAll(async () => void ({ store } = opened.use(await openTestStore())))
afterAll(() => opened.disposeAsync())

const cluster = {
  jobLocks: ALL_JOBS,
  peers: { topic: () => ({ on: () => undefined, tell: () => undefined }) },
  overview: () => Promise.resolve([]),
} as unknown as AgentUpdatesDeps['cluster']
const events = { publish: () => undefined, publishStats: () => undefined }

test.each([
  ['is made', () => Promise.resolve({ path: '', sha256: 'ab'.repeat(32), bytes: 1, digest: 'b'.repeat(64) })],
  ['cannot be made', () => Promise.reject(new Error('No room.'))],
])('a bundle for updates that %s is not asked for again at each look', async (_what, bundle) => {
  const program = JSON.stringify({ kind: 'line', digest: 'a'.repeat(64), updates: true })
  const id = await insertAgent(store.db)
  await store.db.updateTable('agents').set({ program }).where('id', '=', id).execute()
  let looks = 0
  let packed = 0
  await using _updates = startAgentUpdates({
    store,
    cluster,
    events,
    agents: { request: () => Promise.reject(new Error('not asked')) },
    isReady: () => false,
    isBusy: () => false,
    bundles: {
      get() {
        packed += 1
        return bundle()
      },
    },
    tickets: { issue: () => '' },
    settings: {
      read() {
        looks += 1
        return Promise.resolve({ agentUpdates: 'automatic' } as never)
      },
    },
    version: '1.0.0',
    tellHost: () => Promise.resolve(),
    log: silentLog,
    everyMs: 5,
  })
  await expect.poll(() => looks).toBeGreaterThan(5)
  expect(packed).toBe(1)
})

test('a host that has left is saved as such before the records forget it, which is repeated until it succeeds', async () => {
  const id = await insertAgent(store.db)
  await setAgent(store.db, id, { status: 'CONNECTED' })
  const step = async () => (await findAgent(store.db, id))?.removal?.step
  const asked: unknown[] = []
  const steps: unknown[] = []
  await using removals = startAgentRemovals({
    store,
    cluster,
    events,
    agents: {
      request: (...request) => {
        asked.push(request)
        return Promise.resolve({ removes: true, homes: [], storage: [] } as never)
      },
    },
    isReady: () => true,
    lifecycle: { terminate: () => Promise.reject(new Error('no sessions')) },
    async forget(agentId: AgentId) {
      steps.push(await step())
      if (steps.length === 1) throw new Error('The database is away.')
      await setAgent(store.db, agentId, { status: 'REVOKED' })
    },
    log: silentLog,
    everyMs: 5,
  })
  await removals.begin(id, { sessions: 'wait', images: false, away: false }, 'admin@localhost')
  await expect.poll(async () => (await findAgent(store.db, id))?.status).toBe('REVOKED')
  expect(steps).toEqual(['removed', 'removed'])
  expect(asked).toHaveLength(1)
})
