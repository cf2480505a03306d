import { expect, test } from 'vitest'
import { type AgentId, UserId } from '#manager/contract'
import { createBuilds } from '../../../manager/images/builds.ts'
import { silentLog } from '../../../manager/log.ts'
import { insertUser } from '../../../manager/store/identity/users.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { createTasks } from '../../../manager/tasks/tasks.ts'
import { insertAgent, openTestStore } from '../../fixtures/test-store.ts'

test.each([
  ['demoted', { role: 'domain_admin' as const }],
  ['deactivated', { active: false }],
])('a build ends soon after the one who started it was %s', async (_what, change) => {
  await using world = await openTestStore()
  const { store } = world
  const user = { id: newId(UserId), email: 'root@example.org', name: 'Root', role: 'superadmin' as const }
  await insertUser(store.db, { ...user, password_hash: 'none' })
  const agentId = await insertAgent(store.db)
  await using tasks = createTasks({
    ...{ store, log: silentLog },
    events: { publish: () => undefined, publishStats: () => undefined },
  })
  const begun = Promise.withResolvers<AbortSignal>()
  const request = (_agent: AgentId, _type: string, _input: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_, reject) => {
      begun.resolve(signal)
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  const builds = createBuilds({ store, tasks, agents: { request } as never, recheckMs: 20 })
  const caller = { ...user, userId: user.id, domain: 'default', loginId: null, keypair: null, scopes: null }
  const task = await builds.start(caller, { reference: 'lab/x:1', recipe: 'FROM scratch', agentId })
  const signal = await begun.promise
  expect(signal.aborted).toBe(false)
  await store.db.updateTable('users').set(change).where('id', '=', user.id).execute()
  await expect.poll(async () => (await tasks.get(task.id)).status).toBe('failed')
  expect(signal.aborted).toBe(true)
  expect(JSON.stringify((await tasks.get(task.id)).error)).toContain('build_starter_left')
})
