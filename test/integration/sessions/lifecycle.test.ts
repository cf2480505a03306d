import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type RequestInput, type RequestName } from '#agent/contract'
import { type AgentId, KernelId, type Reason, SessionId, type UserId } from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { createSessionChanges } from '../../../manager/sessions/changes.ts'
import { createLifecycle, type LifecycleDeps } from '../../../manager/sessions/lifecycle/lifecycle.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { markScheduled } from '../../../manager/store/sessions/placements.ts'
import { findSession, insertSessions, type NewSession } from '../../../manager/store/sessions/sessions.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

const stack = new AsyncDisposableStack()
const placed: Reason = { code: 'placed', message: 'Placed.' }
let store: Store
let ownerId: UserId
let agentId: AgentId

beforeAll(async () => {
  ;({ store, ownerId } = stack.use(await openTestStore()))
  agentId = await insertAgent(store.db)
})
afterAll(() => stack.disposeAsync())
afterEach(() => store.db.deleteFrom('sessions').execute())

/** A waiting session with one kernel. */
async function waiting(
  more: Partial<NewSession> = {},
): Promise<{ id: SessionId; kernelId: KernelId; place: () => Promise<unknown> }> {
  const [id, kernelId] = [newId(SessionId), newId(KernelId)]
  await insertSessions(store.db, [aSessionRow(ownerId, { id, status: 'PENDING', ...more })])
  await insertKernels(store.db, [{ id: kernelId, sessionId: id, status: 'PENDING', slots: {} }])
  return { id, kernelId, place: () => markScheduled(store.db, [{ sessionId: id, agentId, reason: placed }]) }
}

/** @param answer the agent's answer to each request; if left out, there is none */
function lifecycleOn(more: Partial<LifecycleDeps> = {}, answer = (_name: RequestName): Promise<unknown> => never()) {
  const asked: { name: RequestName; input: unknown }[] = []
  const agents = {
    isReady: () => true,
    request(_agentId: AgentId, name: RequestName, input: unknown) {
      asked.push({ name, input })
      return answer(name)
    },
  } as unknown as LifecycleDeps['agents']
  const events = { publish: () => undefined, publishStats: () => undefined }
  const lifecycle = createLifecycle({
    store,
    changes: createSessionChanges({ store, events }),
    agents,
    pullOf: () => Promise.resolve({}),
    transfers: { offerFor: () => Promise.resolve(undefined), during: (_, __, run) => run() },
    signer: { sign: () => 'signature', clusterSeed: () => 'seed' },
    startFiles: { of: () => Promise.resolve({ dotfiles: [], bootstrapScript: '' }) },
    log: silentLog,
    ...more,
  })
  const attempts = () =>
    asked.flatMap(({ name, input }) =>
      name === 'create_kernel' ? [(input as RequestInput<'create_kernel'>).spec.attempt] : [],
    )
  return { lifecycle, attempts, status: async (id: SessionId) => (await findSession(store.db, id))?.status }
}

const never = () => new Promise<never>(() => undefined)

test('the next attempt is sent although an earlier one is still being prepared', async () => {
  let pulls = 0
  const { lifecycle, attempts, status } = lifecycleOn({
    pullOf: () => (++pulls === 1 ? never() : Promise.resolve({})),
  })
  const { id, place } = await waiting()
  await place()
  lifecycle.start(id)
  await expect.poll(() => pulls).toBe(1)
  await lifecycle.failAttempt(id, 1, { code: 'deadline_exceeded', message: 'Too late.' })
  expect(await status(id)).toBe('PENDING')
  await place()
  lifecycle.start(id)
  await expect.poll(attempts).toEqual([2])
})

test('a host that goes away during a start has not stopped keeping sessions in: the start waits for it', async () => {
  let isHere = true
  const agents = { isReady: () => isHere, restricts: () => false, request: never } as unknown as LifecycleDeps['agents']
  const { lifecycle, status } = lifecycleOn({
    agents,
    pullOf() {
      isHere = false
      return Promise.resolve({})
    },
  })
  const { id, kernelId, place } = await waiting({ allowedNames: ['pypi.org'] })
  await place()
  lifecycle.start(id)
  await expect.poll(() => isHere).toBe(false)
  await expect.poll(() => lifecycle.startInFlight(kernelId)).toBeUndefined()
  expect(await status(id)).toBe('PREPARING')
})

test('a session whose container runs is not started again when recording that failed', async () => {
  const events = { publish: () => undefined, publishStats: () => undefined }
  const changes = createSessionChanges({ store, events })
  let failures = 0
  const apply: typeof changes.apply = (id, decide) =>
    changes.apply(id, state => {
      const change = decide(state)
      if (change?.to === 'RUNNING' && failures++ === 0) throw new Error('Connection terminated unexpectedly')
      return change
    })
  const reply = { containerId: 'one', startedAt: '2026-01-01T00:00:00.000Z' }
  const { lifecycle, status } = lifecycleOn({ changes: { ...changes, apply } }, () => Promise.resolve(reply))
  const { id, kernelId, place } = await waiting()
  await place()
  lifecycle.start(id)
  await expect.poll(() => failures).toBe(1)
  await expect.poll(() => lifecycle.startInFlight(kernelId)).toBeUndefined()
  expect(await status(id)).toBe('PREPARING')
  await lifecycle.markRunning(id, { kernelId, attempt: 1, ...reply, reason: placed })
  expect(await status(id)).toBe('RUNNING')
})

test('the lifetime of a session that was found running counts from its start', async () => {
  const { lifecycle } = lifecycleOn()
  const { id, kernelId, place } = await waiting({ maxLifetimeSeconds: 3600 })
  await place()
  lifecycle.start(id)
  await expect.poll(async () => (await findSession(store.db, id))?.status).toBe('PREPARING')
  const startedAt = new Date(Date.now() - 1_800_000).toISOString()
  await lifecycle.markRunning(id, { kernelId, attempt: 1, containerId: 'one', startedAt, reason: placed })
  const { started_at: started, expires_at: expires } = (await findSession(store.db, id)) ?? {}
  expect(Number(expires) - Number(started)).toBe(3_600_000)
})

test('on several hosts, one that has started its container waits for no image any more, although another host still does', async () => {
  const second = await insertAgent(store.db)
  const waits = new Set<AgentId>()
  let waited = 0
  const reply = { containerId: 'one', startedAt: '2026-01-01T00:00:00.000Z' }
  const { lifecycle } = lifecycleOn({
    agents: {
      isReady: () => true,
      clusterAddress: (id: AgentId) => (id === second ? '192.168.7.2' : '192.168.7.1'),
      request: (id: AgentId) => (id === second ? never() : Promise.resolve(reply)),
    } as unknown as LifecycleDeps['agents'],
    transfers: {
      offerFor: () => Promise.resolve({ transferId: '', id: '', references: [], sizeBytes: 1 }),
      async during(_, to, run) {
        waited++
        waits.add(to)
        return await run().finally(() => waits.delete(to))
      },
    },
  })
  const { id } = await waiting({ clusterSize: 2, clusterMode: 'multi-host' })
  await insertKernels(store.db, [{ id: newId(KernelId), sessionId: id, role: 'sub1', status: 'PENDING', slots: {} }])
  await markScheduled(store.db, [{ sessionId: id, agentId, hosts: [agentId, second], reason: placed }])
  lifecycle.start(id)
  await expect.poll(() => waited).toBe(2)
  await expect.poll(() => [...waits]).toEqual([second])
})
