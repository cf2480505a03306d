import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type AgentId, KernelId, sessionImagePrefix, type Task, UserId } from '#manager/contract'
import { type AgentRequests } from '../../../manager/agent-link/connection.ts'
import { createBuilds } from '../../../manager/images/builds.ts'
import { createPulls } from '../../../manager/images/pulls.ts'
import { silentLog } from '../../../manager/log.ts'
import { createRegistries } from '../../../manager/registries/registries.ts'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { createSessionImages } from '../../../manager/sessions/session-images.ts'
import { putImageRequest } from '../../../manager/store/sessions/image-requests.ts'
import { insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { newId, newUuid } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { createTasks, type Tasks } from '../../../manager/tasks/tasks.ts'
import { type Caller } from '../../../manager/users/authorize.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

/** Long work of the administration that begins, and would never end by itself. */
interface World {
  readonly store: Store
  readonly tasks: Tasks
  readonly caller: Caller
}
interface Work {
  readonly task: Task
  /** Resolves when the agent or the registry was told to end it. */
  readonly stopped: Promise<undefined>
}

const events = { publish: () => undefined, publishStats: () => undefined }
const recheckMs = 20

/** An agent that does what it is asked until the manager takes that back. */
function endlessAgents() {
  const begun = Promise.withResolvers<undefined>()
  const stopped = Promise.withResolvers<undefined>()
  const request = (_agent: AgentId, _type: string, _input: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_, reject) => {
      begun.resolve(undefined)
      signal.addEventListener('abort', () => {
        stopped.resolve(undefined)
        reject(signal.reason as Error)
      })
    })
  return {
    agents: { request: request as never as AgentRequests['request'] },
    begun: begun.promise,
    stopped: stopped.promise,
  }
}

async function build({ store, tasks, caller }: World): Promise<Work> {
  const { agents, begun, stopped } = endlessAgents()
  const agentId = await insertAgent(store.db)
  const builds = createBuilds({ store, tasks, agents, recheckMs })
  const task = await builds.start(caller, { reference: 'lab/x:1', recipe: 'FROM scratch', agentId })
  await begun
  return { task, stopped }
}

/** No agent has an image for another one. */
const NO_TRANSFERS = {
  offer: () => Promise.resolve(undefined),
  during: <T>(_: unknown, __: unknown, run: () => Promise<T>) => run(),
}

async function pull({ store, tasks, caller }: World): Promise<Work> {
  const { agents, begun, stopped } = endlessAgents()
  const agentId = await insertAgent(store.db)
  const registries = { authOf: () => Promise.resolve(undefined) }
  const pulls = createPulls({ store, tasks, agents, registries, transfers: NO_TRANSFERS, recheckMs })
  const task = await pulls.start(caller, { reference: 'lab/x:1', from: 'registry', agentIds: [agentId] })
  await begun
  return { task, stopped }
}

async function rescan({ store, tasks, caller }: World): Promise<Work> {
  const begun = Promise.withResolvers<undefined>()
  const stopped = Promise.withResolvers<undefined>()
  const registry = createServer(request => {
    begun.resolve(undefined)
    request.once('close', () => {
      stopped.resolve(undefined)
      registry.close()
    })
  })
  registry.listen(0, '127.0.0.1')
  await once(registry, 'listening')
  const name = `127.0.0.1:${(registry.address() as AddressInfo).port}`
  const registries = createRegistries({ store, tasks, events, box: {} as never, recheckMs })
  await registries.create({ name, url: `http://${name}`, allowHttp: true, projects: [], active: true })
  const task = await registries.rescan(caller, name)
  await begun.promise
  return { task, stopped: stopped.promise }
}

/** The agent has made the image of a session of somebody else, and pushes it. */
async function push(world: World): Promise<Work> {
  const { agents, begun, stopped } = endlessAgents()
  const { task } = await acceptImage(world, (...asked) =>
    asked[1] === 'save_kernel'
      ? Promise.resolve({ id: 'sha256:1' } as never)
      : (agents.request(...asked) as Promise<never>),
  )
  await begun
  return { task, stopped }
}

/** Answer of the stand-in for agents, whose type depends on the request. */
type Request = (...asked: Parameters<AgentRequests['request']>) => Promise<never>

async function acceptImage({ store, tasks, caller }: World, request: Request): Promise<{ readonly task: Task }> {
  const owner = { id: newId(UserId), email: 'ada@example.org' }
  await insertUser(store.db, { ...owner, name: 'Ada', role: 'user', password_hash: 'none' })
  const session = aSessionRow(owner.id)
  await insertSessions(store.db, [session])
  const agentId = await insertAgent(store.db)
  const kernel = { id: newId(KernelId), sessionId: session.id, status: 'RUNNING' as const, slots: {}, agentId }
  await insertKernels(store.db, [kernel])
  const images = createSessionImages({
    ...{ store, tasks, events, recheckMs },
    agents: { request },
    settings: { read: () => Promise.reject(new Error('a superadmin accepts in any case')) },
    pulls: { follow: () => () => undefined },
    registries: {
      pushAuth: () => Promise.resolve(undefined),
      rescan: () => Promise.reject(new Error('nothing was pushed')),
    },
  })
  const asked = { id: newUuid(), sessionId: session.id, reference: `${sessionImagePrefix(owner)}box:1` }
  await putImageRequest(store.db, { ...asked, title: null, note: '', days: 1 })
  const task = await images.accept(caller, asked.id, { registry: 'cr.example.org' })
  return { task }
}

async function superadminOf(store: Store): Promise<Caller> {
  const user = { id: newId(UserId), email: 'root@example.org', name: 'Root', role: 'superadmin' as const }
  await insertUser(store.db, { ...user, password_hash: 'none' })
  return { ...user, userId: user.id, domain: 'default', loginId: null, keypair: null, scopes: null }
}

describe.each([
  ['a build', build],
  ['a pull', pull],
  ['a rescan of a registry', rescan],
  ['a push of the image of a session', push],
])('%s', (_what, begin) => {
  test.each([
    ['demoted', { role: 'domain_admin' as const }],
    ['deactivated', { active: false }],
  ])('ends soon after the one who started it was %s', async (_lost, change) => {
    await using world = await openTestStore()
    const { store } = world
    const caller = await superadminOf(store)
    await using tasks = createTasks({ store, log: silentLog, events })
    const { task, stopped } = await begin({ store, tasks, caller })
    expect((await tasks.get(task.id)).status).toBe('running')
    await store.db.updateTable('users').set(change).where('id', '=', caller.userId).execute()
    await expect.poll(async () => (await tasks.get(task.id)).status).toBe('failed')
    await stopped
    expect(JSON.stringify((await tasks.get(task.id)).error)).toContain('starter_left')
  })
})

test('an image that was made after its starter was demoted is not pushed', async () => {
  await using world = await openTestStore()
  const { store } = world
  const caller = await superadminOf(store)
  await using tasks = createTasks({ store, log: silentLog, events })
  const asked: string[] = []
  const saved = Promise.withResolvers<never>()
  const { task } = await acceptImage({ store, tasks, caller }, (_agent, name) => {
    asked.push(name)
    return saved.promise
  })
  await store.db.updateTable('users').set({ role: 'user' }).where('id', '=', caller.userId).execute()
  saved.resolve({ id: 'sha256:1' } as never)
  await expect.poll(async () => (await tasks.get(task.id)).status).toBe('failed')
  expect(asked).toEqual(['save_kernel'])
})
