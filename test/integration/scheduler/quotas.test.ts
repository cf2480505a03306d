import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { defined } from '#base/defined'
import { type ApiClient, DEFAULT_POLICY, type Session, type SessionId, type UserId } from '#manager/contract'
import { signedApi } from '../../fixtures/manager.ts'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const GiB = 2 ** 30
let cluster: SessionsCluster
let admin: ApiClient
beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 300 })
  admin = cluster.api
  await admin.createResourceGroup({ body: { name: 'other' } })
})
afterAll(() => cluster[Symbol.asyncDispose]())
beforeEach(async () => {
  await join('default')
})
afterEach(() => cluster.reset())

async function join(resourceGroup: string): Promise<ScriptedAgent> {
  const { join: token } = await admin.createJoinToken({ body: { resourceGroup } })
  return cluster.join({ join: token, capacity: { cpu: 8000, mem: 16 * GiB } })
}

let users = 0
async function newUser(domain?: string): Promise<{ api: ApiClient; id: UserId }> {
  const api = await cluster.addUser(`user-${++users}@example.org`, defined({ domain }))
  const { items } = await api.getUsage({})
  return { api, id: items.find(item => item.kind === 'user')?.id as UserId }
}

const launch = (api: ApiClient, cpu: string, more: object = {}) => cluster.launch({ resources: { cpu }, ...more }, api)
const waitsFor = (session: Session, code: string) =>
  expect.poll(() => cluster.reasonOf(session.id), { interval: 25 }).toBe(code)
const end = async (id: SessionId) => {
  await admin.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
}

describe('resource policies', () => {
  test('policies are created, changed, assigned to users and keypairs, and deleted once nobody has them', async () => {
    const made = await admin.createResourcePolicy({
      body: { name: 'small', limits: { cpu: '2', mem: '4g', 'cuda.shares': '0.5' }, maxConcurrentSessions: 3 },
    })
    expect(made).toMatchObject({
      limits: { cpu: '2', mem: String(4 * GiB), 'cuda.shares': '0.5' },
      maxConcurrentSessions: 3,
      maxContainersPerSession: null,
      allowedStorageHosts: null,
      users: 0,
    })
    await expect(admin.createResourcePolicy({ body: { name: 'small' } })).rejects.toMatchObject({
      code: 'resource_policy_exists',
    })
    const changed = await admin.updateResourcePolicy({
      params: { name: 'small' },
      body: { limits: { cpu: '1' }, idleTimeoutSeconds: 600, allowedStorageHosts: ['local'], maxFolders: 10 },
    })
    expect(changed).toMatchObject({
      limits: { cpu: '1' },
      maxConcurrentSessions: 3,
      idleTimeoutSeconds: 600,
      version: 2,
    })
    const unlimited = await admin.updateResourcePolicy({
      params: { name: 'small' },
      body: { maxConcurrentSessions: null, allowedStorageHosts: null },
    })
    expect(unlimited).toMatchObject({ maxConcurrentSessions: null, allowedStorageHosts: null, maxFolders: 10 })

    const { api, id } = await newUser()
    const { accessKey } = await api.createKeypair({ body: {} })
    await admin.assignResourcePolicy({ params: { name: 'small' }, body: { userId: id } })
    await admin.assignResourcePolicy({ params: { name: 'small' }, body: { accessKey } })
    const small = async () => (await admin.listResourcePolicies()).items.find(one => one.name === 'small')
    expect(await small()).toMatchObject({ users: 1, keypairs: 1 })
    const { items: all } = await admin.listUsers({ query: { limit: 500 } })
    expect(all.find(user => user.id === id)?.resourcePolicy).toBe('small')
    expect((await api.listKeypairs({})).items[0]?.resourcePolicy).toBe('small')
    const remove = (name: string) => admin.deleteResourcePolicy({ params: { name } })
    await expect(remove('small')).rejects.toMatchObject({ code: 'resource_policy_in_use' })
    await admin.assignResourcePolicy({ params: { name: DEFAULT_POLICY }, body: { userId: id } })
    await admin.assignResourcePolicy({ params: { name: DEFAULT_POLICY }, body: { accessKey } })
    await remove('small')
    await expect(remove('small')).rejects.toMatchObject({ code: 'resource_policy_not_found' })
    await expect(remove(DEFAULT_POLICY)).rejects.toMatchObject({ code: 'resource_policy_in_use' })
    await expect(admin.assignResourcePolicy({ params: { name: 'none' }, body: { userId: id } })).rejects.toMatchObject({
      code: 'resource_policy_not_found',
    })
    await expect(api.listResourcePolicies()).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('the policy of a user counts all sessions in all resource groups; what exceeds it waits and blocks nobody', async () => {
    await join('other')
    const { api, id } = await newUser()
    await admin.createResourcePolicy({ body: { name: 'user-4', limits: { cpu: '4' } } })
    await admin.assignResourcePolicy({ params: { name: 'user-4' }, body: { userId: id } })
    const first = await launch(api, '2')
    const second = await launch(api, '1.5', { resourceGroup: 'other' })
    await cluster.reach(first.id, 'RUNNING')
    await cluster.reach(second.id, 'RUNNING')
    const over = await launch(api, '1')
    await waitsFor(over, 'user_policy')
    expect((await admin.getSession({ params: { id: over.id } })).reason).toMatchObject({
      message:
        'Needs 1 CPU; 0.5 left of the 4 CPU that resource policy "user-4" gives each user. Starts when other sessions end.',
      needed: { cpu: '1' },
      available: { cpu: '0.5' },
    })
    const small = await launch(api, '0.5')
    await cluster.reach(small.id, 'RUNNING')
    const others = await launch((await newUser()).api, '3')
    await cluster.reach(others.id, 'RUNNING')
    await end(second.id)
    await cluster.reach(over.id, 'RUNNING')

    const whatIf = await api.whatIf({ body: { image: 'berth/python:3.13', resources: { cpu: '1' } } })
    expect(whatIf).toMatchObject({ startsNow: false, reason: { code: 'user_policy', available: { cpu: '0.5' } } })
    expect(whatIf.smaller).toEqual([{ slot: 'cpu', amount: '0.5' }])
    await admin.updateResourcePolicy({ params: { name: 'user-4' }, body: { limits: {} } })
    expect((await api.whatIf({ body: { image: 'berth/python:3.13', resources: { cpu: '1' } } })).startsNow).toBe(true)
  })

  test('a policy limits how many sessions hold resources at the same time', async () => {
    const { api, id } = await newUser()
    await admin.createResourcePolicy({ body: { name: 'two', maxConcurrentSessions: 2 } })
    await admin.assignResourcePolicy({ params: { name: 'two' }, body: { userId: id } })
    const { items } = await api.createSession({ body: { image: 'berth/python:3.13', name: 'many', count: 3 } })
    await expect
      .poll(async () => {
        const { items: now } = await api.listSessions({ query: { status: 'live' } })
        return now.map(one => (one.status === 'PENDING' ? one.reason.code : one.status)).toSorted()
      })
      .toEqual(['RUNNING', 'RUNNING', 'concurrency_limit'])
    const [running] = (await api.listSessions({ query: { status: 'RUNNING' } })).items
    await end(running?.id as SessionId)
    for (const { id: one } of items) if (one !== running?.id) await cluster.reach(one, 'RUNNING')
    expect(await api.getResources({})).toMatchObject({ sessionsLeft: 0 })
  })

  test('the policy of a keypair counts only sessions that were made with the keypair', async () => {
    const { api } = await newUser()
    const keypair = await api.createKeypair({ body: {} })
    await admin.createResourcePolicy({ body: { name: 'key-1', limits: { cpu: '1' } } })
    await admin.assignResourcePolicy({ params: { name: 'key-1' }, body: { accessKey: keypair.accessKey } })
    const byKey = signedApi(cluster.url, keypair)
    await cluster.reach((await launch(byKey, '0.7')).id, 'RUNNING')
    await waitsFor(await launch(byKey, '0.5'), 'keypair_policy')
    await cluster.reach((await launch(api, '3')).id, 'RUNNING')
    expect((await refusal(launch(byKey, '1.1'))).code).toBe('over_keypair_policy')
  })
})

describe('a request that exceeds a limit by itself', () => {
  test('the request is refused at once, with a code that names the limit', async () => {
    const { api, id } = await newUser()
    await admin.createResourcePolicy({
      body: { name: 'tight', limits: { cpu: '2', mem: '2g' }, maxContainersPerSession: 2 },
    })
    await admin.assignResourcePolicy({ params: { name: 'tight' }, body: { userId: id } })
    expect(await refusal(launch(api, '3'))).toMatchObject({
      code: 'over_user_policy',
      detail: { slot: 'cpu', needed: '3', limit: '2', policy: 'tight' },
    })
    expect((await refusal(launch(api, '1', { clusterSize: 3 }))).code).toBe('over_container_limit')
    expect((await refusal(launch(api, '1.5', { clusterSize: 2 }))).code).toBe('over_user_policy')
    await admin.updateResourcePolicy({ params: { name: 'tight' }, body: { maxConcurrentSessions: 0 } })
    expect((await refusal(launch(api, '1'))).code).toBe('over_concurrency_limit')
    const ask = api.whatIf({ body: { image: 'berth/python:3.13' } })
    expect((await refusal(ask)).code).toBe('over_concurrency_limit')
  })
})

describe('limits of groups and domains', () => {
  test('limits of groups and domains count the sessions of all their users', async () => {
    await admin.createDomain({ body: { name: 'lab', limits: { cpu: '4' } } })
    const { items: groups } = await admin.listGroups({ query: { domain: 'lab' } })
    const [group] = groups
    if (!group) throw new Error('a domain has a group')
    await admin.updateGroup({ params: { id: group.id }, body: { limits: { cpu: '3' } } })
    const members = [await newUser('lab'), await newUser('lab')]
    const [ann, bob] = members.map(({ api }) => api)
    if (!ann || !bob) throw new Error('two users')
    const first = await launch(ann, '2')
    await cluster.reach(first.id, 'RUNNING')
    expect(first.resourceGroup).toBe('default')
    await waitsFor(await launch(bob, '1.5'), 'group_limit')
    expect((await refusal(launch(bob, '3.5'))).code).toBe('over_group_limit')
    const wide = await admin.createGroup({ body: { domain: 'lab', name: 'wide' } })
    for (const { id } of members) await admin.addGroupMember({ params: { id: wide.id, userId: id } })
    await waitsFor(await launch(bob, '2.5', { group: 'wide' }), 'domain_limit')
    await cluster.reach((await launch(bob, '2', { group: wide.id })).id, 'RUNNING')
    expect((await refusal(launch(bob, '4.5', { group: 'wide' }))).code).toBe('over_domain_limit')
    expect((await refusal(launch(bob, '1', { group: 'none' }))).code).toBe('group_not_found')
    const { items } = await bob.getUsage({})
    expect(items.find(item => item.kind === 'domain')).toMatchObject({
      held: { cpu: '4' },
      left: { cpu: '0' },
      sessions: 2,
    })
    expect(items.find(item => item.kind === 'group' && item.name === 'default')).toMatchObject({
      limits: { cpu: '3' },
      held: { cpu: '2' },
      left: { cpu: '1' },
    })
  })
})

describe('access to resource groups', () => {
  test('only superadmins may use a resource group until access is granted to a domain, a project or a user', async () => {
    await admin.createResourceGroup({ body: { name: 'closed', domains: [] } })
    const agent = await join('closed')
    const { api, id } = await newUser()
    const names = async () => (await api.listResourceGroups()).items.map(({ name }) => name)
    expect(await names()).toEqual(['default', 'other'])
    expect((await refusal(launch(api, '1', { resourceGroup: 'closed' }))).code).toBe('resource_group_not_found')
    expect((await refusal(api.getResources({ query: { resourceGroup: 'closed' } }))).code).toBe(
      'resource_group_not_found',
    )
    const mine = await launch(admin, '1', { resourceGroup: 'closed' })
    expect((await cluster.reach(mine.id, 'RUNNING')).kernels[0]?.agentId).toBe(agent.id)

    const holders = [{ userId: id }, { domain: 'default' }, { groupId: await defaultGroup() }]
    for (const body of holders) {
      const { items } = await admin.grantResourceGroupAccess({ params: { name: 'closed' }, body })
      expect(items).toHaveLength(1)
      await admin.grantResourceGroupAccess({ params: { name: 'closed' }, body })
      expect(await names()).toEqual(['closed', 'default', 'other'])
      const session = await launch(api, '1', { resourceGroup: 'closed' })
      await cluster.reach(session.id, 'RUNNING')
      await admin.withdrawResourceGroupAccess({ params: { name: 'closed' }, query: body })
      expect(await names()).toEqual(['default', 'other'])
      // Running sessions continue.
      expect((await admin.getSession({ params: { id: session.id } })).status).toBe('RUNNING')
    }
    expect((await admin.listResourceGroupAccess({ params: { name: 'closed' } })).items).toEqual([])
    const nobody = { domain: 'nowhere' }
    await expect(admin.grantResourceGroupAccess({ params: { name: 'closed' }, body: nobody })).rejects.toMatchObject({
      code: 'domain_not_found',
    })
    await expect(admin.createResourceGroup({ body: { name: 'odd', domains: ['nowhere'] } })).rejects.toMatchObject({
      code: 'domain_not_found',
    })
    expect((await admin.listResourceGroups()).items.map(({ name }) => name)).not.toContain('odd')
  })

  test('a session whose access is withdrawn keeps waiting, with the reason', async () => {
    const { api, id } = await newUser()
    await admin.createResourceGroup({ body: { name: 'leaving', domains: [] } })
    const access = { params: { name: 'leaving' }, body: { userId: id } }
    await admin.grantResourceGroupAccess(access)
    const agent = await join('leaving')
    await admin.updateAgent({ params: { id: agent.id }, body: { schedulable: false } })
    const session = await launch(api, '1', { resourceGroup: 'leaving' })
    await waitsFor(session, 'no_agents')
    await admin.withdrawResourceGroupAccess({ params: { name: 'leaving' }, query: access.body })
    await waitsFor(session, 'group_not_allowed')
    await admin.updateAgent({ params: { id: agent.id }, body: { schedulable: true } })
    await admin.grantResourceGroupAccess(access)
    await cluster.reach(session.id, 'RUNNING')
  })

  test('the table of all grants has every resource group, domain and project', async () => {
    const { id } = await newUser()
    const groupId = await defaultGroup()
    await admin.createResourceGroup({ body: { name: 'table', domains: ['default'] } })
    for (const body of [{ groupId }, { userId: id }]) {
      await admin.grantResourceGroupAccess({ params: { name: 'table' }, body })
    }
    const { resourceGroups, domains, grants } = await admin.getAccessMatrix()
    expect(resourceGroups).toContainEqual({ name: 'table', active: true })
    const names = (await admin.listDomains()).items.map(({ name }) => name)
    expect(domains.map(({ name }) => name)).toEqual(names)
    const own = domains.find(({ name }) => name === 'default')
    expect(own?.projects).toContainEqual({ id: groupId, name: 'default', active: true })
    const { items } = await admin.listResourceGroupAccess({ params: { name: 'table' } })
    expect(items.map(({ kind }) => kind)).toEqual(['domain', 'group', 'user'])
    expect(grants.filter(({ resourceGroup }) => resourceGroup === 'table')).toEqual(
      items.map(item => ({ resourceGroup: 'table', ...item })),
    )
    expect(grants.some(({ resourceGroup }) => resourceGroup === 'default')).toBe(true)
  })

  test('a new domain has access to the resource group default', async () => {
    await admin.createDomain({ body: { name: 'new-domain' } })
    const { items } = await admin.listResourceGroupAccess({ params: { name: 'default' } })
    expect(items).toContainEqual({ kind: 'domain', id: 'new-domain', name: 'new-domain' })
  })

  async function defaultGroup() {
    const { items } = await admin.listGroups({ query: { domain: 'default' } })
    const group = items.find(({ name }) => name === 'default')
    if (!group) throw new Error('the domain has a group')
    return group.id
  }
})

describe('presets', () => {
  test('the presets of a fresh installation are there, and can be deleted', async () => {
    const { items } = await admin.listPresets()
    expect(items.map(({ name }) => name)).toEqual(['Heavy', 'Light', 'One GPU', 'Standard'])
    for (const { name } of items) await admin.deletePreset({ params: { name } })
    expect((await admin.listPresets()).items).toEqual([])
  })

  test('superadmins create presets, and each preset says whether it fits what is left', async () => {
    const { api, id } = await newUser()
    await admin.createPreset({ body: { name: 'small', slots: { cpu: '1', mem: '2g' }, shmem: '256m' } })
    await admin.createPreset({ body: { name: 'large', slots: { cpu: '6', mem: '8g' } } })
    await admin.createPreset({ body: { name: 'gpu', slots: { cpu: '1', mem: '2g', 'cuda.device': '1' } } })
    const list = async (query = {}) =>
      Object.fromEntries((await api.listPresets({ query })).items.map(({ name, fits }) => [name, fits]))
    expect(await list()).toEqual({ gpu: false, large: true, small: true })
    expect(await list({ fitting: 'true' })).toEqual({ large: true, small: true })
    expect(await list({ fits: 'false' })).toEqual({ gpu: undefined, large: undefined, small: undefined })
    await admin.createResourcePolicy({ body: { name: 'preset-4', limits: { cpu: '4' } } })
    await admin.assignResourcePolicy({ params: { name: 'preset-4' }, body: { userId: id } })
    expect(await list({ fitting: 'true' })).toEqual({ small: true })
    const { id: running } = await launch(api, '3.5')
    await cluster.reach(running, 'RUNNING')
    expect(await list({ fitting: 'true' })).toEqual({})
    // A resource group without agents holds nothing.
    expect(await list({ resourceGroup: 'other', fitting: 'true' })).toEqual({})

    const changed = await admin.updatePreset({ params: { name: 'small' }, body: { slots: { cpu: '0.5', mem: '1g' } } })
    expect(changed).toMatchObject({ slots: { cpu: '0.5', mem: String(GiB) }, shmem: String(256 * 2 ** 20), version: 2 })
    expect(await list({ fitting: 'true' })).toEqual({ small: true })
    const wrong = admin.updatePreset({ params: { name: 'small' }, body: { shmem: '2g' } })
    await expect(wrong).rejects.toMatchObject({ code: 'bad_request' })
    await expect(admin.createPreset({ body: { name: 'small', slots: {} } })).rejects.toMatchObject({
      code: 'preset_exists',
    })
    await admin.deletePreset({ params: { name: 'small' } })
    await expect(admin.deletePreset({ params: { name: 'small' } })).rejects.toMatchObject({ code: 'preset_not_found' })
    await expect(api.createPreset({ body: { name: 'mine', slots: {} } })).rejects.toMatchObject({ code: 'forbidden' })
  })
})
