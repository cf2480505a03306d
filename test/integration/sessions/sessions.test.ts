import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type ApiClient,
  MOST_SESSION_IDS,
  type Session,
  type SessionId,
  type SessionOrder,
  SessionSort,
} from '#manager/contract'
import { gpus, PYTHON } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
beforeAll(async () => {
  cluster = await startSessionsCluster()
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

describe('a session', () => {
  test('a session goes from PENDING to RUNNING to TERMINATED, and its timeline has every step', async () => {
    const agent = await cluster.join()
    const { api } = cluster
    const { id, apps, requested, shmem } = await cluster.launch({ name: 'my-work' })
    expect(apps.map(app => app.name)).toEqual(['jupyter', 'terminal', 'sshd'])
    expect(requested).toEqual({ cpu: '1', mem: String(2 ** 30) })
    expect(shmem).toBe(String(64 * 2 ** 20))
    const running = await cluster.reach(id, 'RUNNING')
    expect(running.reachable).toBe(true)
    expect(running.kernels[0]).toMatchObject({ status: 'RUNNING', agentId: agent.id, agentName: agent.name })

    expect(await api.getSessionLogs({ params: { id } })).toEqual({ text: 'live line\n', truncated: false })
    const ssh = await api.getSshAccess({ params: { id } })
    expect(ssh.hostKeyFingerprint).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/)

    await api.deleteSession({ params: { id } })
    const ended = await cluster.reach(id, 'TERMINATED')
    expect(ended.kernels[0]?.exitCode).toBe(143)
    expect(await api.getSessionLogs({ params: { id } })).toEqual({ text: 'last words\n', truncated: false })
    expect((await api.deleteSession({ params: { id } })).status).toBe('TERMINATED')

    const { items } = await api.listSessionEvents({ params: { id } })
    expect(items.map(event => [event.from, event.to, event.reason.code, event.actor])).toEqual([
      [null, 'PENDING', 'requested', 'admin@localhost'],
      ['PENDING', 'SCHEDULED', 'placed', null],
      ['SCHEDULED', 'PREPARING', 'create_sent', null],
      ['PREPARING', 'RUNNING', 'started', null],
      ['RUNNING', 'TERMINATING', 'user_terminated', 'admin@localhost'],
      ['TERMINATING', 'TERMINATED', 'user_terminated', null],
    ])
    const page = (query: { limit?: number; cursor?: string; sort?: '-at' }) =>
      api.listSessionEvents({ params: { id }, query })
    const first = await page({ limit: 4 })
    expect(first).toEqual({ items: items.slice(0, 4), nextCursor: String(items[3]?.id) })
    expect(await page({ limit: 4, cursor: first.nextCursor ?? '' })).toEqual({
      items: items.slice(4),
      nextCursor: null,
    })
    const newest = await page({ limit: 2, sort: '-at' })
    expect(newest.items).toEqual(items.slice(4).toReversed())
    expect(await page({ limit: 4, sort: '-at', cursor: newest.nextCursor ?? '' })).toEqual({
      items: items.slice(0, 4).toReversed(),
      nextCursor: null,
    })
    expect((await refusal(page({ cursor: 'nonsense' }))).code).toBe('bad_request')
    expect(agent.containers.size).toBe(0)
    expect(agent.requests('create_kernel')[0]?.spec).toMatchObject({
      sessionName: 'my-work',
      owner: { email: 'admin@localhost' },
      image: { reference: 'berth/python:3.13', digest: PYTHON.id },
      slots: { cpu: 1000, mem: 2 ** 30 },
      attempt: 1,
    })
  })

  test('a session without room says why at once, and starts when there is room', async () => {
    await cluster.join({ capacity: { cpu: 2000, mem: 4 * 2 ** 30 } })
    const first = await cluster.launch({ resources: { cpu: '2' } })
    await cluster.reach(first.id, 'RUNNING')
    const { id } = await cluster.launch({ resources: { cpu: '1.5' } })
    await expect.poll(() => cluster.reasonOf(id), { interval: 20 }).toBe('capacity')
    const waiting = await cluster.api.getSession({ params: { id } })
    expect(waiting).toMatchObject({
      queuePosition: 1,
      reason: { needed: { cpu: '1.5' }, available: { cpu: '0' } },
    })
    await cluster.api.deleteSession({ params: { id: first.id } })
    await cluster.reach(id, 'RUNNING')
  })

  test('a waiting session is cancelled at once', async () => {
    await cluster.join({ capacity: { cpu: 1000, mem: 4 * 2 ** 30 } })
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    const { id } = await cluster.launch()
    expect((await cluster.api.deleteSession({ params: { id } })).status).toBe('CANCELLED')
  })

  test('a session waits, with a reason, while no agent is connected', async () => {
    const agent = await cluster.join()
    await agent.disconnect()
    const { id } = await cluster.launch({ resources: { cpu: '64' } })
    await expect.poll(() => cluster.reasonOf(id)).toBe('agents_unreachable')
    await agent.connect()
    await expect.poll(() => cluster.reasonOf(id)).toBe('too_large')
  })

  test('a session gets a readable name; several with one name get numbers, or none is created', async () => {
    await cluster.join()
    expect((await cluster.launch()).name).toMatch(/^[a-z]+-[a-z]+-\d{4}$/)
    await cluster.launch({ name: 'batch-3' })
    const refused = await refusal(cluster.launch({ name: 'batch', count: 3 }))
    expect(refused.code).toBe('session_name_taken')
    const body = { image: 'berth/python:3.13', name: 'other', count: 3, resources: { cpu: '0.5' } }
    const { items } = await cluster.api.createSession({ body })
    expect(items.map(item => item.name)).toEqual(['other-1', 'other-2', 'other-3'])
    const { items: batch } = await cluster.api.listSessions({ query: { name: 'batch-1' } })
    expect(batch).toEqual([])
  })

  test('a request below the minimum of its image is raised, and shared memory stays within RAM, both with a notice', async () => {
    await cluster.join()
    const body = { image: 'berth/python:3.13', resources: { cpu: '0.1', mem: '128m' }, shmem: '1g' }
    const { items, notices } = await cluster.api.createSession({ body })
    expect(items[0]).toMatchObject({
      requested: { cpu: '0.5', mem: String(256 * 2 ** 20) },
      shmem: String(256 * 2 ** 20),
    })
    expect(notices.map(notice => notice.code)).toEqual(['raised_to_minimum', 'shmem_lowered'])
  })
})

describe('requests that are refused', () => {
  test.each([
    ['a name with spaces', { name: 'my work' }, 'bad_request'],
    ['a name of three characters', { name: 'abc' }, 'bad_request'],
    ['a name that is a path', { name: '../../etc/passwd' }, 'bad_request'],
    ['an unknown image', { image: 'nobody/nothing:1' }, 'image_not_found'],
    ['an image that is a path', { image: '../../etc/passwd' }, 'image_not_found'],
    ['RAM as a word', { resources: { mem: 'lots' } }, 'bad_request'],
    ['a negative amount', { resources: { cpu: '-1' } }, 'bad_request'],
    ['a negative count', { count: -1 }, 'bad_request'],
    ['an unknown slot', { resources: { tpu: '1' } }, 'bad_request'],
    ['a variable that Berth sets', { environ: { LD_PRELOAD: '/tmp/x.so' } }, 'bad_request'],
    ['more CPU than any agent has', { resources: { cpu: '1000' } }, 'request_too_large'],
    ['a GPU where there is none', { resources: { 'cuda.device': '1' } }, 'request_too_large'],
  ])('refused: %s', async (_title, spec, code) => {
    await cluster.join()
    expect((await refusal(cluster.launch(spec as never))).code).toBe(code)
    expect((await cluster.api.listSessions({ query: { status: 'live' } })).total).toBe(0)
  })

  test('the refusal of a too large request has the slot, the amount needed and the capacity', async () => {
    await cluster.join()
    expect(await refusal(cluster.launch({ resources: { cpu: '9' } }))).toMatchObject({
      code: 'request_too_large',
      detail: { slot: 'cpu', needed: '9', largest: '8' },
    })
  })

  test('a second live session of the same name is refused; an ended session frees its name', async () => {
    await cluster.join()
    const { id } = await cluster.launch({ name: 'taken' })
    expect((await refusal(cluster.launch({ name: 'taken' }))).code).toBe('session_name_taken')
    await cluster.api.deleteSession({ params: { id } })
    await expect.poll(async () => (await cluster.api.getSession({ params: { id } })).endedAt).not.toBeNull()
    await cluster.launch({ name: 'taken' })
  })
})

test('users see and end only their own sessions, whose names do not collide; a superadmin sees and ends all', async () => {
  await cluster.join()
  const [ada, bob] = [await cluster.addUser('ada@example.org'), await cluster.addUser('bob@example.org')]
  const hers = await cluster.launch({ name: 'same-name' }, ada)
  const his = await cluster.launch({ name: 'same-name' }, bob)
  await cluster.reach(hers.id, 'RUNNING')
  await cluster.reach(his.id, 'RUNNING')
  expect((await ada.listSessions()).items.map(item => item.id)).toEqual([hers.id])
  const params = { id: his.id }
  for (const call of [
    () => ada.getSession({ params }),
    () => ada.deleteSession({ params }),
    () => ada.listSessionEvents({ params }),
    () => ada.getSessionLogs({ params }),
    () => ada.readSessionLog({ params }),
    () => ada.getSshAccess({ params }),
    () => ada.createGrant({ params: { ...params, app: 'jupyter' } }),
  ]) {
    expect((await refusal(call())).code).toBe('session_not_found')
  }
  expect((await refusal(ada.listAgents())).code).toBe('forbidden')
  // The key of another user would let an admin act as them.
  expect((await refusal(cluster.api.getSshAccess({ params }))).code).toBe('forbidden')
  expect((await cluster.api.listSessions({ query: { status: 'live' } })).total).toBe(2)
  expect((await cluster.api.listSessions({ query: { status: 'live', mine: 'true' } })).total).toBe(0)
  await cluster.api.deleteSession({ params })
  expect((await cluster.reach(his.id, 'TERMINATED')).reason.code).toBe('admin_terminated')
})

test('the list is paged in each order without gaps, by values and then by age', async () => {
  await cluster.join()
  const ada = await cluster.addUser('orders@example.org')
  const resources = { cpu: '0.1', mem: '64m' }
  const create = (api: ApiClient, name: string) =>
    api.createSession({ body: { image: 'berth/python:3.13', name, resources } })
  for (const name of ['Beta', 'alpha', 'gamma']) await create(cluster.api, `${name}-of-orders`)
  for (const name of ['beta', 'delta']) await create(ada, `${name}-of-orders`)
  const list = async () => (await cluster.api.listSessions({ query: { search: 'of-orders' } })).items
  const settled = () => expect.poll(async () => (await list()).filter(one => one.status === 'RUNNING').length)
  await settled().toBe(5)
  await cluster.api.deleteSession({ params: { id: (await list())[0]?.id as SessionId } })
  await expect
    .poll(async () => (await cluster.api.listSessions({ query: { status: 'finished', search: 'of-orders' } })).total)
    .toBe(1)
  const made = await list()

  for (const sort of SessionSort.options) {
    const seen: Session[] = []
    let cursor: string | undefined
    do {
      const page = await cluster.api.listSessions({
        query: { search: 'of-orders', sort, limit: 2, ...(cursor ? { cursor } : {}) },
      })
      seen.push(...page.items)
      cursor = page.nextCursor ?? undefined
    } while (cursor)
    const valueOf = (one: Session) =>
      ({
        created: '',
        name: one.name.toLowerCase(),
        status: one.status,
        owner: one.ownerEmail,
        image: one.image,
        resourceGroup: one.resourceGroup,
        ended: one.endedAt ?? 'never',
      })[sort.replace('-', '') as SessionOrder]
    const keys = (list: readonly Session[]) => list.map(one => `${valueOf(one)} ${one.id}`)
    const rising = keys(made).toSorted()
    expect(keys(seen), sort).toEqual(sort.startsWith('-') ? rising.toReversed() : rising)
  }
  await expect(
    refusal(cluster.api.listSessions({ query: { sort: 'name', cursor: randomUUID() } })),
  ).resolves.toMatchObject({ code: 'bad_request' })
})

test('the list is paged, newest first, without gaps', async () => {
  await cluster.join()
  const body = { image: 'berth/python:3.13', name: 'paged', count: 5, resources: { cpu: '0.5', mem: '256m' } }
  const { items } = await cluster.api.createSession({ body })
  const seen: string[] = []
  let cursor: string | null | undefined
  do {
    const page = await cluster.api.listSessions({
      query: { status: 'live', limit: 2, ...(cursor ? { cursor } : {}) },
    })
    expect(page.total).toBe(5)
    seen.push(...page.items.map(item => item.id))
    cursor = page.nextCursor
  } while (cursor)
  expect(seen).toEqual(items.map(item => item.id).toReversed())
  expect((await refusal(cluster.api.listSessions({ query: { cursor: 'x' } }))).code).toBe('bad_request')
})

test('sessions that are requested by their ids come on one page, without those that the caller may not see', async () => {
  await cluster.join()
  const ada = await cluster.addUser('ada-ids@example.org')
  const body = { image: 'berth/python:3.13', count: 3, resources: { cpu: '0.1', mem: '64m' } }
  const own = (await ada.createSession({ body })).items.map(item => item.id)
  const [other] = (await cluster.api.createSession({ body })).items.map(item => item.id)
  const ids = [...own.slice(0, 2), other].join(',')
  const hers = await ada.listSessions({ query: { ids, limit: 1 } })
  expect(hers).toMatchObject({ nextCursor: null, total: 2 })
  expect(hers.items.map(item => item.id)).toEqual(own.slice(0, 2).toReversed())
  expect((await cluster.api.listSessions({ query: { ids, status: 'live' } })).total).toBe(3)
  const finished = await cluster.api.listSessions({ query: { ids, status: 'finished' } })
  expect(finished).toEqual({ items: [], nextCursor: null, total: 0 })
  const list = (count: number) =>
    ada.listSessions({ query: { ids: Array.from({ length: count }, () => own[0]).join(',') } })
  expect((await list(MOST_SESSION_IDS)).total).toBe(1)
  for (const call of [list(MOST_SESSION_IDS + 1), list(0), ada.listSessions({ query: { ids: 'x' } })]) {
    expect((await refusal(call)).code).toBe('bad_request')
  }
})

test('fifty sessions that are requested at once never get more than there is, and no device twice', async () => {
  const agents = [
    await cluster.join({ capacity: { cpu: 4000, mem: 64 * 2 ** 30, 'cuda.device': 4 }, devices: gpus(4) }),
    await cluster.join({ capacity: { cpu: 6000, mem: 64 * 2 ** 30, 'cuda.device': 2 }, devices: gpus(2) }),
  ]
  const launches = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      cluster.launch({ name: `many-${index}`, resources: { cpu: '1', mem: '256m', 'cuda.device': '1' } }),
    ),
  )
  const running = () => cluster.api.listSessions({ query: { status: 'RUNNING' } })
  await expect.poll(async () => (await running()).total).toBe(6)
  const { items } = await running()
  const devices = items.flatMap(item => item.kernels.flatMap(k => k.devices.map(d => `${k.agentId} ${d.uuid}`)))
  expect(new Set(devices).size).toBe(6)
  expect(agents.map(agent => agent.containers.size)).toEqual([4, 2])
  const waiting = await cluster.api.listSessions({ query: { status: 'PENDING' } })
  expect(waiting.total).toBe(44)
  const positions = async () =>
    (await cluster.api.listSessions({ query: { status: 'PENDING' } })).items.map(item => item.queuePosition ?? 0)
  await expect
    .poll(async () => (await positions()).toSorted((a, b) => a - b))
    .toEqual(Array.from({ length: 44 }, (_, index) => index + 1))
  // Each end lets exactly one more start.
  const first = items[0]?.id as SessionId
  await cluster.api.deleteSession({ params: { id: first } })
  await expect.poll(async () => (await cluster.api.listSessions({ query: { status: 'PENDING' } })).total).toBe(43)
  expect(launches).toHaveLength(50)
})

test('shares of a GPU add up to one device at most', async () => {
  await cluster.join({
    capacity: { cpu: 8000, mem: 64 * 2 ** 30, 'cuda.shares': 100 },
    devices: gpus(1, 'cuda.shares'),
  })
  const share = () => cluster.launch({ resources: { cpu: '0.5', mem: '256m', 'cuda.shares': '0.3' } })
  const three = [await share(), await share(), await share()]
  for (const { id } of three) await cluster.reach(id, 'RUNNING')
  const fourth = await share()
  await expect.poll(() => cluster.reasonOf(fourth.id)).toBe('capacity')
  expect((await cluster.api.getResources()).free['cuda.shares']).toBe('0.1')
})
