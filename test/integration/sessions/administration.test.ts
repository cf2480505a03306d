import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type EventHint } from '#manager/contract'
import { apiOf } from '../../fixtures/manager.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const PASSWORD = 'Their-own-pass-1'
let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

async function person(
  email: string,
  domain: string,
  role: 'user' | 'domain_admin' = 'user',
): Promise<{ api: ApiClient; token: string }> {
  await cluster.api.createUser({
    body: { mustChangePassword: false, email, name: email, password: PASSWORD, role, domain },
  })
  const { token } = await apiOf(cluster.url).login({ body: { email, password: PASSWORD, kind: 'token' } })
  if (token === null) throw new Error('no token')
  return { api: apiOf(cluster.url, token), token }
}

test('a message reaches each owner once, at once and later, until the owner clears it', async () => {
  const agent = await cluster.join()
  const ann = await person('ann@example.org', 'default')
  const bob = await person('bob@example.org', 'default')
  const [one, two, other] = [
    await cluster.launch({ name: 'ann-one' }, ann.api),
    await cluster.launch({ name: 'ann-two' }, ann.api),
    await cluster.launch({ name: 'bobs' }, bob.api),
  ]
  using events = await openEventStream(cluster.url, ann)
  const text = 'The host goes down at noon.\nPlease save your work.'
  const body = { text, sessionIds: [one.id, two.id, one.id, other.id] }
  expect(await cluster.api.sendMessage({ body })).toEqual({ recipients: 2, mailed: false })
  await expect.poll(() => events.of('hint').map(({ data }) => (data as EventHint).topic)).toContain('message')
  const { items } = await ann.api.listMessages()
  expect(items).toMatchObject([{ from: 'admin@localhost', text }, { about: 'account_made_password' }])
  expect(items[0]?.sessions.map(({ name }) => name).toSorted()).toEqual(['ann-one', 'ann-two'])

  // A message about an agent goes to the owners of its live sessions.
  for (const { id } of [one, two, other]) await cluster.reach(id, 'RUNNING')
  await bob.api.deleteSession({ params: { id: other.id } })
  await cluster.reach(other.id, 'TERMINATED')
  const ofAgent = { text: 'Second', agentId: agent.id }
  expect(await cluster.api.sendMessage({ body: ofAgent })).toMatchObject({ recipients: 1 })

  const [newest, oldest] = (await ann.api.listMessages()).items
  expect([newest?.text, oldest?.text]).toEqual(['Second', text])
  await ann.api.clearMessages({ query: { until: oldest?.id ?? '' } })
  expect((await ann.api.listMessages()).items.map(message => message.text)).toEqual(['Second'])
  // Clearing affects only the user's own messages.
  expect((await bob.api.listMessages()).items).toMatchObject([{ text }, { about: 'account_made_password' }])
})

test('a domain admin writes to owners in the domain only, and a user to nobody', async () => {
  await cluster.api.createDomain({ body: { name: 'red' } })
  const boss = await person('boss@example.org', 'red', 'domain_admin')
  const red = await person('red@example.org', 'red')
  const far = await cluster.launch({ name: 'far-away' })
  await expect(boss.api.sendMessage({ body: { text: 'Hello', sessionIds: [far.id] } })).rejects.toMatchObject({
    code: 'session_not_found',
  })
  await expect(red.api.sendMessage({ body: { text: 'Hello', sessionIds: [far.id] } })).rejects.toMatchObject({
    code: 'forbidden',
  })
  expect((await cluster.api.listMessages()).items).toEqual([])
})

test.each([
  ['no text', { text: '  ' }],
  ['a text that is too long', { text: 'x'.repeat(501) }],
  ['control characters', { text: 'a\u001b[2Jb' }],
])('a message with %s is refused', async (_what, { text }) => {
  const { id } = await cluster.launch()
  await expect(cluster.api.sendMessage({ body: { text, sessionIds: [id] } })).rejects.toMatchObject({
    code: 'bad_request',
  })
})

test('an end is forced by an admin only, says who and why, and frees resources once the agent has removed the container', async () => {
  await cluster.reset()
  const agent = await cluster.join({ capacity: { cpu: 4000, mem: 8 * 2 ** 30 }, heartbeatMs: 400 })
  const { api } = await person('hanging@example.org', 'default')
  const resources = { cpu: '4', mem: '1g' }
  const hanging = await cluster.launch({ name: 'hanging', resources }, api)
  await cluster.reach(hanging.id, 'RUNNING')
  const answer = Promise.withResolvers<undefined>()
  const destroy = agent.script.destroy_kernel
  agent.script.destroy_kernel = async (input, signal) => {
    await answer.promise
    return destroy(input, signal)
  }
  const params = { id: hanging.id }
  await cluster.api.deleteSession({ params, query: { why: 'The host goes down.' } })
  await cluster.reach(hanging.id, 'TERMINATING')
  await expect(api.deleteSession({ params, query: { force: 'true' } })).rejects.toMatchObject({ code: 'forbidden' })
  expect((await api.getSession({ params })).status).toBe('TERMINATING')

  const next = await cluster.launch({ name: 'next-one', resources })
  const forced = await cluster.api.deleteSession({ params, query: { force: 'true', why: 'It hangs.' } })
  expect(forced).toMatchObject({
    status: 'TERMINATED',
    reason: { code: 'admin_terminated', message: 'Ended by admin@localhost: It hangs.', note: 'It hangs.' },
  })
  const { items } = await api.listSessionEvents({ params })
  expect(items.slice(-2).map(({ to, actor, reason }) => [to, actor, reason.note])).toEqual([
    ['TERMINATING', 'admin@localhost', 'The host goes down.'],
    ['TERMINATED', 'admin@localhost', 'It hangs.'],
  ])
  // The container still runs, so nothing else gets its cores.
  await wait(1_000)
  expect((await cluster.api.getSession({ params: { id: next.id } })).status).toBe('PENDING')
  expect(agent.containers.size).toBe(1)
  answer.resolve(undefined)
  await cluster.reach(next.id, 'RUNNING')
})

test('a closed resource group tells those who wait and those who launch why', async () => {
  await cluster.reset()
  const { id } = await cluster.join()
  await cluster.api.updateAgent({ params: { id }, body: { schedulable: false } })
  const waiting = await cluster.launch({ name: 'waits-here' })
  const notice = 'New disks until noon.'
  await cluster.api.updateResourceGroup({ params: { name: 'default' }, body: { active: false, notice } })
  const reason = async () => (await cluster.api.getSession({ params: { id: waiting.id } })).reason
  await expect.poll(reason).toMatchObject({ code: 'group_inactive', note: notice })
  await expect(cluster.launch()).rejects.toMatchObject({
    code: 'resource_group_inactive',
    detail: { why: `An admin has closed resource group "default": ${notice}` },
  })
  await cluster.api.updateResourceGroup({ params: { name: 'default' }, body: { active: true } })
})
