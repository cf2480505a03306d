import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ApiClient, DEFAULT_RESOURCE_GROUP, type GroupId, type Session, type UserId } from '#manager/contract'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Waiting sessions of a deactivated owner, project or domain do not start, with a reason, and continue afterwards. */

let cluster: SessionsCluster
let admin: ApiClient
beforeAll(async () => {
  // Without the periodic checks behind the triggers: a reactivation must be announced.
  cluster = await startSessionsCluster({ slowTickMs: 3_600_000 })
  admin = cluster.api
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

interface Place {
  readonly domain: string
  readonly group: GroupId
  readonly user: UserId
}

/** Somebody in a domain and project of their own. */
async function somebody(name: string): Promise<Place & { api: ApiClient }> {
  await admin.createDomain({ body: { name } })
  const { id: group } = await admin.createGroup({ body: { name: 'theirs', domain: name } })
  const [email, password] = [`${name}@example.org`, 'Their-own-pass-1']
  const user = await admin.createUser({
    body: { mustChangePassword: false, email, name, password, domain: name, groups: ['theirs'] },
  })
  return { domain: name, group, user: user.id, api: await cluster.signIn(email) }
}

test.each<[string, string, (place: Place, active: boolean) => Promise<unknown>]>([
  [
    'domain',
    'domain_inactive',
    ({ domain: name }, active) => admin.updateDomain({ params: { name }, body: { active } }),
  ],
  ['project', 'project_inactive', ({ group: id }, active) => admin.updateGroup({ params: { id }, body: { active } })],
  ['owner', 'owner_inactive', ({ user: id }, active) => admin.updateUser({ params: { id }, body: { active } })],
  [
    'resource-group',
    'group_inactive',
    (_, active) => admin.updateResourceGroup({ params: { name: DEFAULT_RESOURCE_GROUP }, body: { active } }),
  ],
])('a waiting session does not start while its %s is deactivated, and starts afterwards', async (what, code, set) => {
  await cluster.join({ capacity: { cpu: 1000, mem: 2 ** 33 } })
  const place = await somebody(`of-${what}`)
  const first = await cluster.launch({ resources: { cpu: '1' } })
  await cluster.reach(first.id, 'RUNNING')
  const waiting = await cluster.launch({ name: 'waiting', resources: { cpu: '1' } }, place.api)
  const after = await cluster.launch({ name: 'after', resources: { cpu: '1' }, dependsOn: ['waiting'] }, place.api)
  await expect.poll(() => cluster.reasonOf(waiting.id)).toBe('capacity')
  await set(place, false)
  await expect.poll(() => cluster.reasonOf(waiting.id)).toBe(code)
  const { message } = (await admin.getSession({ params: { id: waiting.id } })).reason
  expect(message).toMatch(
    what === 'resource-group'
      ? /closed this resource group/
      : new RegExp(`^The ${what} of this session is deactivated`),
  )
  // Capacity is free now, so others get it.
  await admin.deleteSession({ params: { id: first.id } })
  await cluster.reach(first.id, 'TERMINATED')
  if (what !== 'resource-group') {
    const other = await cluster.launch({ resources: { cpu: '1' } })
    await cluster.reach(other.id, 'RUNNING')
    await admin.deleteSession({ params: { id: other.id } })
    await cluster.reach(other.id, 'TERMINATED')
  }
  const statusOf = async ({ id }: Session) => (await admin.getSession({ params: { id } })).status
  expect(await statusOf(waiting)).toBe('PENDING')
  // A dependent session waits too: its dependency has not failed.
  expect(await statusOf(after)).toBe('PENDING')
  await set(place, true)
  await cluster.reach(waiting.id, 'RUNNING')
})
