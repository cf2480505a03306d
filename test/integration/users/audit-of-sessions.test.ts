import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type SessionId } from '#manager/contract'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())
afterEach(() => cluster.reset())

const rowsOf = async (api: ApiClient, id: SessionId) =>
  (await api.listAuditLog({ query: { target: `session:${id}`, limit: 100 } })).items
const commandsOf = async (api: ApiClient, id: SessionId) =>
  (await rowsOf(api, id)).filter(({ action }) => action === 'runCommand').map(({ detail }) => detail.command)

test('admins of a domain read commands in the audit log with the leave of the owner, or of their own', async () => {
  await cluster.join()
  const owner = await cluster.addUser('runs@example.org')
  const lead = await cluster.addUser('leads@example.org', { role: 'domain_admin' })
  const { id } = await cluster.launch({}, owner)
  await cluster.reach(id, 'RUNNING')
  const params = { id }
  await owner.runCommand({ params, body: { command: 'curl -H "X-Key: geheim"' } })
  expect(await commandsOf(lead, id)).toEqual([undefined])
  const [entry] = (await rowsOf(lead, id)).filter(({ action }) => action === 'runCommand')
  expect(entry?.detail.commandId).toEqual(expect.any(String))
  expect(await commandsOf(cluster.api, id)).toEqual([expect.stringContaining('geheim')])
  await owner.updateSession({ params, body: { adminsMayRead: true } })
  expect(await commandsOf(lead, id)).toEqual([expect.stringContaining('geheim')])
  await owner.updateSession({ params, body: { adminsMayRead: false } })
  expect(await commandsOf(lead, id)).toEqual([undefined])
  const own = await cluster.launch({}, lead)
  await cluster.reach(own.id, 'RUNNING')
  await lead.runCommand({ params: { id: own.id }, body: { command: ['true'] } })
  expect(await commandsOf(lead, own.id)).toEqual([expect.stringContaining('true')])
})

test('what happens to a session stays with the domain in which it was launched, after its owner has moved', async () => {
  await cluster.join()
  await cluster.api.createDomain({ body: { name: 'next' } })
  const owner = await cluster.addUser('moves@example.org')
  const old = await cluster.addUser('stays@example.org', { role: 'domain_admin' })
  const next = await cluster.addUser('next@example.org', { role: 'domain_admin', domain: 'next' })
  const { id } = await cluster.launch({ name: 'of-old-times' }, owner)
  await cluster.reach(id, 'RUNNING')
  const moved = await cluster.move((await owner.me()).user.id, 'next')
  await moved.updateSession({ params: { id }, body: { note: 'by the owner' } })
  await old.deleteSession({ params: { id } })
  const seen = async (api: ApiClient) => (await rowsOf(api, id)).map(({ action, targetName }) => [action, targetName])
  expect(await seen(next)).toEqual([])
  expect(await seen(old)).toEqual([
    ['deleteSession', 'of-old-times'],
    ['updateSession', 'of-old-times'],
    ['createSession', 'of-old-times'],
  ])
})
