import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { type AgentId, type Task, UserId } from '#manager/contract'
import { createBuilds } from '../../../manager/images/builds.ts'
import { createPulls } from '../../../manager/images/pulls.ts'
import { silentLog } from '../../../manager/log.ts'
import { createRegistries } from '../../../manager/registries/registries.ts'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { type Store } from '../../../manager/store/open-store.ts'
import { createTasks, type Tasks } from '../../../manager/tasks/tasks.ts'
import { type Caller } from '../../../manager/users/authorize.ts'
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
  return { agents: { request } as never, begun: begun.promise, stopped: stopped.promise }
}

async function build({ store, tasks, caller }: World): Promise<Work> {
  const { agents, begun, stopped } = endlessAgents()
  const agentId = await insertAgent(store.db)
  const builds = createBuilds({ store, tasks, agents, recheckMs })
  const task = await builds.start(caller, { reference: 'lab/x:1', recipe: 'FROM scratch', agentId })
  await begun
  return { task, stopped }
}

async function pull({ store, tasks, caller }: World): Promise<Work> {
  const { agents, begun, stopped } = endlessAgents()
  const agentId = await insertAgent(store.db)
  const registries = { authOf: () => Promise.resolve(undefined) }
  const pulls = createPulls({ store, tasks, agents, registries, recheckMs })
  const task = await pulls.start(caller, { reference: 'lab/x:1', agentIds: [agentId] })
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

describe.each([
  ['a build', build],
  ['a pull', pull],
  ['a rescan of a registry', rescan],
])('%s', (_what, begin) => {
  test.each([
    ['demoted', { role: 'domain_admin' as const }],
    ['deactivated', { active: false }],
  ])('ends soon after the one who started it was %s', async (_lost, change) => {
    await using world = await openTestStore()
    const { store } = world
    const user = { id: newId(UserId), email: 'root@example.org', name: 'Root', role: 'superadmin' as const }
    await insertUser(store.db, { ...user, password_hash: 'none' })
    await using tasks = createTasks({ store, log: silentLog, events })
    const caller = { ...user, userId: user.id, domain: 'default', loginId: null, keypair: null, scopes: null }
    const { task, stopped } = await begin({ store, tasks, caller })
    expect((await tasks.get(task.id)).status).toBe('running')
    await store.db.updateTable('users').set(change).where('id', '=', user.id).execute()
    await expect.poll(async () => (await tasks.get(task.id)).status).toBe('failed')
    await stopped
    expect(JSON.stringify((await tasks.get(task.id)).error)).toContain('starter_left')
  })
})
