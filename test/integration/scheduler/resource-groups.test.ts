import { afterAll, beforeAll, expect, test } from 'vitest'
import { defined } from '#base/defined'
import { type QueueSort, type SessionId } from '#manager/contract'
import { refusal, type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterAll(() => cluster[Symbol.asyncDispose]())

test('resource groups are listed, created, changed and closed', async () => {
  const { api } = cluster
  const made = await api.createResourceGroup({ body: { name: 'gpu', sequencer: 'drf', selector: 'dispersed' } })
  expect(made).toMatchObject({ name: 'gpu', sequencer: 'drf', active: true, options: {}, version: 1 })
  await expect(api.createResourceGroup({ body: { name: 'gpu' } })).rejects.toMatchObject({
    code: 'resource_group_exists',
  })
  const changed = await api.updateResourceGroup({
    params: { name: 'gpu' },
    body: { active: false, options: { splitShares: true } },
  })
  expect(changed).toMatchObject({ sequencer: 'drf', active: false, options: { splitShares: true }, version: 2 })
  expect((await api.listResourceGroups()).items.map(({ name }) => name)).toEqual(['default', 'gpu'])

  const body = { image: 'berth/python:3.13', name: 'some-work' }
  await expect(api.createSession({ body: { ...body, resourceGroup: 'gpu' } })).rejects.toMatchObject({
    code: 'resource_group_inactive',
  })
  await expect(api.createSession({ body: { ...body, resourceGroup: 'none' } })).rejects.toMatchObject({
    code: 'resource_group_not_found',
  })
  await expect(api.createJoinToken({ body: { resourceGroup: 'none' } })).rejects.toMatchObject({
    code: 'resource_group_not_found',
  })
})

test('what-if says whether a request would start, and which smaller one would, and creates nothing', async () => {
  const { api } = cluster
  await cluster.join({ capacity: { cpu: 2000, mem: 4 * 2 ** 30 } })
  const { id } = await cluster.launch({ resources: { cpu: '1' } })
  await cluster.reach(id, 'RUNNING')
  const ask = (cpu: string) => api.whatIf({ body: { image: 'berth/python:3.13', resources: { cpu } } })
  expect(await ask('1')).toMatchObject({ startsNow: true, reason: null, smaller: [] })
  expect(await ask('1.5')).toMatchObject({
    startsNow: false,
    reason: { code: 'capacity', needed: { cpu: '1.5' }, available: { cpu: '1' } },
    smaller: [{ slot: 'cpu', amount: '1' }],
  })
  await expect(ask('3')).rejects.toMatchObject({ code: 'request_too_large' })
  expect((await api.listSessions({ query: {} })).total).toBe(1)
})

test('fair share is explained: who holds what, and why whose session is next', async () => {
  const { api } = cluster
  const mine = { params: { name: 'default' } }
  await expect(api.getFairShare(mine)).rejects.toMatchObject({ code: 'bad_request' })
  await api.updateResourceGroup({ ...mine, body: { sequencer: 'drf' } })
  const ada = await cluster.addUser('ada@localhost')
  const body = { image: 'berth/python:3.13', resources: { cpu: '1.5' } }
  const made = await ada.createSession({ body: { ...body, name: 'of-ada' } })
  await api.createSession({ body: { ...body, name: 'of-admin' } })
  const { items, capacity, reserved } = await api.getFairShare(mine)
  expect(capacity).toMatchObject({ cpu: '2' })
  expect(reserved).toBeNull()
  expect(items).toMatchObject([
    { email: 'ada@localhost', dominant: null, share: 0, waiting: 1, turn: 1, because: 'share' },
    { email: 'admin@localhost', dominant: 'cpu', fraction: 0.5, share: 0.5, turn: 2, because: null },
  ])
  expect(items[0]?.next).toEqual({ id: made.items[0]?.id, name: 'of-ada', priority: 0 })
  await expect(ada.getFairShare(mine)).rejects.toMatchObject({ code: 'forbidden' })
  for (const { next } of items) if (next) await api.deleteSession({ params: { id: next.id } })
  await api.updateResourceGroup({ ...mine, body: { sequencer: 'fifo' } })
})

test('projects with weights share first: whose project holds less is next, and the explanation names it', async () => {
  const { api } = cluster
  const mine = { params: { name: 'default' } }
  const [first] = (await api.listGroups({ query: { search: 'default' } })).items.map(({ id }) => id)
  const speech = await api.createGroup({ body: { domain: 'default', name: 'speech' } })
  const bob = await cluster.addUser('bob@localhost')
  const { user } = await bob.me()
  await api.updateUser({ params: { id: user.id }, body: { groups: [first ?? speech.id, speech.id] } })
  await api.updateResourceGroup({
    ...mine,
    body: { sequencer: 'drf', options: { projectWeights: { [speech.id]: 2 } } },
  })
  const body = { image: 'berth/python:3.13', resources: { cpu: '1.5' } }
  await api.createSession({ body: { ...body, name: 'of-default' } })
  await bob.createSession({ body: { ...body, name: 'of-speech', group: speech.id } })
  const { items } = await api.getFairShare(mine)
  expect(items).toMatchObject([
    {
      email: 'bob@localhost',
      turn: 1,
      because: 'project',
      project: { id: speech.id, name: 'speech', weight: 2, share: 0 },
    },
    { email: 'admin@localhost', turn: 2, because: null, project: { id: first, name: 'default', share: 0.5 } },
  ])
  expect((await bob.listResourceGroups()).items[0]?.options).not.toHaveProperty('projectWeights')
  for (const { next } of items) if (next) await api.deleteSession({ params: { id: next.id } })
  await api.updateResourceGroup({ ...mine, body: { sequencer: 'fifo', options: {} } })
})

test('the queue comes page by page in its order, and says what is held for the session that has waited longest', async () => {
  const { api } = cluster
  const mine = { params: { name: 'default' } }
  const made = await api.createSession({
    body: { image: 'berth/python:3.13', resources: { cpu: '1.5' }, name: 'waits', count: 5 },
  })
  const ids = made.items.map(({ id }) => id)
  await expect
    .poll(async () => (await api.listQueue({ query: {} })).items.map(one => one.queuePosition))
    .toEqual([1, 2, 3, 4, 5])
  const order = async (query: { sort?: QueueSort; limit: number }) => {
    const found: SessionId[] = []
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await api.listQueue({ query: { ...query, ...defined({ cursor }) } })
      expect(page.total).toBe(5)
      expect(page.items.length).toBeLessThanOrEqual(query.limit)
      found.push(...page.items.map(({ id }) => id))
      cursor = page.nextCursor
    }
    return found
  }
  expect(await order({ limit: 2 })).toEqual(ids)
  expect(await order({ sort: '-position', limit: 2 })).toEqual(ids.toReversed())
  const [, , third] = ids
  if (!third) throw new Error('no session')
  await api.setSessionPriority({ params: { id: third }, body: { priority: 5 } })
  await expect.poll(async () => (await order({ limit: 2 }))[0]).toBe(third)
  expect((await api.listQueue({ query: { search: 'waits-2' } })).total).toBe(1)
  expect((await api.listQueue({ query: { resourceGroup: 'none' } })).total).toBe(0)
  expect(await refusal(api.listQueue({ query: { cursor: 'x' } }))).toMatchObject({ code: 'bad_request' })

  for (const sequencer of ['fifo', 'drf'] as const) {
    await api.updateResourceGroup({ ...mine, body: { sequencer, options: { reserveAfterSeconds: 0 } } })
    await expect
      .poll(async () => (await api.listReservations({ query: {} })).items)
      .toMatchObject([
        {
          resourceGroup: 'default',
          session: { id: third, ownerEmail: 'admin@localhost' },
          needed: { cpu: '1.5' },
          // Half of the two CPU is in use by a session of the first test.
          held: { cpu: '1' },
          devices: [],
          expectedBy: null,
        },
      ])
  }
  expect((await api.listReservations({ query: { resourceGroup: 'gpu' } })).items).toEqual([])
  // Nothing is held if the newest session goes first.
  await api.updateResourceGroup({ ...mine, body: { sequencer: 'lifo' } })
  await expect.poll(async () => (await api.listReservations({ query: {} })).items).toEqual([])
  await api.updateResourceGroup({ ...mine, body: { sequencer: 'fifo' } })
  await expect.poll(async () => (await api.listReservations({ query: {} })).items.length).toBe(1)

  // An admin of another domain sees neither.
  await api.createDomain({ body: { name: 'elsewhere' } })
  const far = { email: 'far@localhost', name: 'Far', password: USER_PASSWORD, domain: 'elsewhere' }
  await api.createUser({ body: { mustChangePassword: false, ...far, role: 'domain_admin' } })
  const theirs = await cluster.signIn(far.email)
  expect(await theirs.listQueue({ query: {} })).toMatchObject({ items: [], total: 0 })
  expect((await theirs.listReservations({ query: {} })).items).toEqual([])
  const user = await cluster.addUser('ada@localhost')
  expect(await refusal(user.listQueue({ query: {} }))).toMatchObject({ code: 'forbidden' })
  for (const id of ids) await api.deleteSession({ params: { id } })
  await api.updateResourceGroup({ ...mine, body: { options: {} } })
})

test('what-if agrees with what a real request would do', async () => {
  const { api } = cluster
  const body = { image: 'berth/python:3.13', resources: { cpu: '0.5' } }
  const several = await api.whatIf({ body: { ...body, count: 3 } })
  expect(several).toMatchObject({ startsNow: true, notices: [{ code: 'first_of_several' }] })
  expect(several.notices[0]?.message).toContain('3')

  const user = await cluster.addUser('someone@localhost')
  const raised = { body: { ...body, priority: 1 } }
  expect(await api.whatIf(raised)).toMatchObject({ startsNow: true })
  expect(await refusal(user.createSession(raised))).toMatchObject({ code: 'forbidden' })
  expect(await refusal(user.whatIf(raised))).toMatchObject({ code: 'forbidden' })

  await api.pauseScheduling()
  const paused = { startsNow: false, reason: { code: 'scheduling_paused' }, smaller: [] }
  expect(await api.whatIf({ body })).toMatchObject(paused)
  await api.resumeScheduling()
  expect(await api.whatIf({ body })).toMatchObject({ startsNow: true, reason: null })
})
