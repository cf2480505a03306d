import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ApiClient,
  type AuditEntry,
  type Group,
  type Removed,
  type SessionId,
  type UserId,
} from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
let api: ApiClient
let cli: Cli
let adminId: UserId
beforeAll(async () => {
  cluster = await startSessionsCluster()
  api = cluster.api
  cli = await createCli()
  await cli.signIn(cluster.url)
  adminId = (await api.me()).user.id
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

async function makeGroup(name: string, { member = false } = {}): Promise<Group> {
  const group = await api.createGroup({ body: { name } })
  if (member) await api.addGroupMember({ params: { id: group.id, userId: adminId } })
  return group
}
const removeGroup = ({ id }: Group, purge = false) =>
  api.deleteGroup({ params: { id }, query: purge ? { purge: 'true' } : {} })
const deactivate = ({ id }: Group) => api.updateGroup({ params: { id }, body: { active: false } })
const removeDomain = (name: string, purge = false) =>
  api.deleteDomain({ params: { name }, query: purge ? { purge: 'true' } : {} })
const removeResourceGroup = (name: string) => api.deleteResourceGroup({ params: { name } })
const names = async () => (await api.listGroups()).items.map(group => group.name)
const whyOf = async (call: Promise<unknown>) => {
  const { code, detail } = await refusal(call)
  return `${code}: ${String(detail.why)}`
}
/** A running session of the group, with a host for it. */
async function running(group: string): Promise<SessionId> {
  if ((await api.listAgents()).items.length === 0) await cluster.join()
  const { id } = await cluster.launch({ group })
  await cluster.reach(id, 'RUNNING')
  return id
}
async function ended(group: string): Promise<SessionId> {
  const id = await running(group)
  await api.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
  return id
}

describe('deleting a project', () => {
  test('an empty project is deleted at once, and its name is free again', async () => {
    const group = await makeGroup('by-mistake')
    expect(await removeGroup(group)).toEqual({ name: 'default/by-mistake', members: 0, sessions: 0 })
    expect(await names()).not.toContain('by-mistake')
    expect((await refusal(removeGroup(group))).code).toBe('group_not_found')
    await removeGroup(await makeGroup('by-mistake'))
  })

  test('the project named default cannot be deleted, because new users join it', async () => {
    const group = (await api.listGroups()).items.find(one => one.name === 'default')
    if (!group) throw new Error('no project default')
    await deactivate(group)
    expect((await refusal(removeGroup(group, true))).code).toBe('group_in_use')
    await api.updateGroup({ params: { id: group.id }, body: { active: true } })
  })

  test('members and records keep a project; a purge deletes them with an inactive one', async () => {
    const group = await makeGroup('vision', { member: true })
    const session = await ended('vision')
    expect(await whyOf(removeGroup(group))).toBe(
      'group_in_use: 1 member is still there. 1 record of an ended session is still there. To delete these too, deactivate "vision" first, then delete it with "purge".',
    )
    expect(await whyOf(removeGroup(group, true))).toContain('"vision" is active.')
    expect((await api.getSession({ params: { id: session } })).status).toBe('TERMINATED')
    await deactivate(group)
    expect((await refusal(removeGroup(group))).code).toBe('group_in_use')
    expect(await removeGroup(group, true)).toEqual({ name: 'default/vision', members: 1, sessions: 1 })
    expect((await refusal(api.getSession({ params: { id: session } }))).code).toBe('session_not_found')
    expect((await api.me()).user.groups.map(one => one.name)).not.toContain('vision')
  })

  test('a live session keeps its project even from a purge, and no record is lost meanwhile', async () => {
    const group = await makeGroup('speech', { member: true })
    const old = await ended('speech')
    const id = await running('speech')
    await deactivate(group)
    expect(await whyOf(removeGroup(group, true))).toBe('group_in_use: 1 session has not ended. End it first.')
    expect((await api.getSession({ params: { id: old } })).status).toBe('TERMINATED')
    await api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    expect(await removeGroup(group, true)).toMatchObject({ sessions: 2 })
  })

  test('the audit log names the project and what was deleted with it', async () => {
    const { id } = await makeGroup('told')
    await api.deleteGroup({ params: { id } })
    const rows: AuditEntry[] = (await api.listAuditLog({ query: { action: 'deleteGroup', target: `group:${id}` } }))
      .items
    expect(rows).toMatchObject([{ result: 'ok', detail: { name: 'default/told', members: 0, sessions: 0 } }])
  })

  test('a project is never deleted while somebody launches in it, and a launch that came too late says so', async () => {
    for (let round = 0; round < 10; round++) {
      const group = await makeGroup(`race-${round}`, { member: true })
      const [launched, removed] = await Promise.allSettled([
        cluster.launch({ group: group.name }),
        deactivate(group).then(() => removeGroup(group, true)),
      ])
      if (launched.status === 'fulfilled') {
        expect(removed).toMatchObject({ status: 'rejected', reason: { code: 'group_in_use' } })
        await api.deleteSession({ params: { id: launched.value.id } })
      } else {
        expect(['group_not_found', 'group_inactive']).toContain((launched.reason as { code: string }).code)
        expect(removed.status).toBe('fulfilled')
      }
    }
  })
})

describe('deleting a domain', () => {
  test('a domain is deleted with its project default; whatever keeps it is named, each with the next step', async () => {
    await api.createDomain({ body: { name: 'research' } })
    const { id } = await api.createUser({
      body: {
        mustChangePassword: false,
        email: 'ada@example.org',
        name: 'Ada',
        password: 'Their-own-pass-1',
        domain: 'research',
      },
    })
    const vision = await api.createGroup({ body: { name: 'vision', domain: 'research' } })
    await api.updateSettings({ body: { signUpDomain: 'research' } })
    const why = await whyOf(removeDomain('research'))
    expect(why).toMatch(/^domain_in_use: The domain has 1 user\. Move them to another domain/)
    expect(why).toContain('The domain has 1 project besides "default". Delete them first.')
    expect(why).toContain('Set `signUpDomain` to another one')
    await api.updateSettings({ body: { signUpDomain: 'default' } })
    await api.updateUser({ params: { id }, body: { domain: 'default' } })
    await api.deleteGroup({ params: { id: vision.id } })
    await api.createInvitation({ body: { domain: 'research' } })
    expect(await whyOf(removeDomain('research', true))).toBe(
      'domain_in_use: 1 open invitation is still there. "research" is active. Deactivate it before the purge.',
    )
    await api.updateDomain({ params: { name: 'research' }, body: { active: false } })
    expect(await removeDomain('research', true)).toEqual({ name: 'research', members: 0, sessions: 0 })
    expect((await api.listDomains()).items.map(domain => domain.name)).toEqual(['default'])
    expect((await refusal(removeDomain('research'))).code).toBe('domain_not_found')
    await removeDomain((await api.createDomain({ body: { name: 'research' } })).name)
  })

  test('the domain named default cannot be deleted', async () => {
    expect((await refusal(removeDomain('default', true))).code).toBe('domain_in_use')
  })
})

describe('deleting a resource group', () => {
  test('agents and live sessions keep a resource group; its access rules are deleted with it, records keep its name', async () => {
    await api.createResourceGroup({ body: { name: 'gpu' } })
    const { join } = await api.createJoinToken({ body: { resourceGroup: 'gpu' } })
    const agent = await new ScriptedAgent({ url: cluster.url, join, name: 'gpu-host' }).connect()
    await expect
      .poll(async () => (await api.listAgents()).items.find(one => one.id === agent.id)?.status)
      .toBe('CONNECTED')
    const { id } = await cluster.launch({ resourceGroup: 'gpu' })
    await cluster.reach(id, 'RUNNING')
    const why = await whyOf(removeResourceGroup('gpu'))
    expect(why).toContain(
      'resource_group_in_use: 1 agent is still in it (gpu-host): move them to another group, or forget',
    )
    expect(why).toContain('1 session has not ended. End it first.')
    await api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    await api.forgetAgent({ params: { id: agent.id } })
    await agent[Symbol.asyncDispose]()
    await removeResourceGroup('gpu')
    expect((await api.listResourceGroups()).items.map(group => group.name)).toEqual(['default'])
    expect((await api.getSession({ params: { id } })).resourceGroup).toBe('gpu')
    expect((await refusal(cluster.launch({ resourceGroup: 'gpu' }))).code).toBe('resource_group_not_found')
    expect((await refusal(removeResourceGroup('gpu'))).code).toBe('resource_group_not_found')
    expect((await refusal(removeResourceGroup('default'))).code).toBe('resource_group_in_use')
  })

  test('a deleted resource group accepts no agent with an earlier join string', async () => {
    await api.createResourceGroup({ body: { name: 'late' } })
    const { join } = await api.createJoinToken({ body: { resourceGroup: 'late' } })
    await removeResourceGroup('late')
    await using agent = new ScriptedAgent({ url: cluster.url, join })
    await agent.connect()
    expect(agent.refusal).toMatchObject({ code: 'join_token_invalid' })
  })

  test('a resource group is never deleted while somebody launches in it', async () => {
    for (let round = 0; round < 10; round++) {
      const name = `race-${round}`
      await api.createResourceGroup({ body: { name } })
      const [launched, removed] = await Promise.allSettled([
        cluster.launch({ resourceGroup: name }),
        removeResourceGroup(name),
      ])
      expect(launched.status === removed.status, 'both, or neither').toBe(false)
      const code = [launched, removed].find(one => one.status === 'rejected')?.reason as { code: string }
      expect(['resource_group_in_use', 'resource_group_not_found']).toContain(code.code)
      if (launched.status === 'fulfilled') await api.deleteSession({ params: { id: launched.value.id } })
    }
  })
})

test('the command exits with 1 and the reason, and succeeds afterwards', async () => {
  const berth = (...args: string[]) => cli.run(['admin', ...args])
  await berth('domain', 'create', 'physics')
  await berth('project', 'create', 'optics', '--domain', 'physics')
  const refused = await berth('domain', 'rm', 'physics')
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toContain('The domain has 1 project besides "default". Delete them first. (domain_in_use)')
  expect(await berth('project', 'rm', 'physics/optics')).toMatchObject({ code: 0, out: 'Deleted physics/optics.\n' })
  const removed = JSON.parse((await berth('domain', 'rm', 'physics', '--json')).out) as Removed
  expect(removed).toEqual({ name: 'physics', members: 0, sessions: 0 })
  expect(await berth('domain', 'rm', 'physics')).toMatchObject({ code: 4 })
  await berth('resource-group', 'create', 'spare')
  expect(await berth('resource-group', 'rm', 'spare')).toMatchObject({ code: 0, err: 'Deleted spare.\n' })
  expect(await berth('resource-group', 'rm', 'default')).toMatchObject({ code: 1 })
})
