import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type ApiClient, type SessionSpec } from '#manager/contract'
import { signedApi } from '../../fixtures/manager.ts'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** A launch and a forecast of the same request are refused in the same way. */

const DAY_MS = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()

type Who = 'admin' | 'member' | 'limited' | 'barred' | 'byKeypair' | 'student'
let callers: Record<Who, ApiClient>
let cluster: SessionsCluster

beforeAll(async () => {
  cluster = await startSessionsCluster()
  const { api: admin, addUser } = cluster
  const member = await addUser('member@localhost')
  const limited = await addUser('limited@localhost')
  const barred = await addUser('barred@localhost')
  const idOf = async (api: ApiClient) => (await api.me()).user.id

  await admin.createResourcePolicy({ body: { name: 'tight', limits: { cpu: '2' }, maxContainersPerSession: 2 } })
  await admin.createResourcePolicy({ body: { name: 'none', maxConcurrentSessions: 0 } })
  await admin.createResourcePolicy({ body: { name: 'key', limits: { cpu: '1' } } })
  await admin.assignResourcePolicy({ params: { name: 'tight' }, body: { userId: await idOf(limited) } })
  await admin.assignResourcePolicy({ params: { name: 'none' }, body: { userId: await idOf(barred) } })
  const keypair = await member.createKeypair({ body: {} })
  await admin.assignResourcePolicy({ params: { name: 'key' }, body: { accessKey: keypair.accessKey } })
  const byKeypair = signedApi(cluster.url, keypair)

  await admin.createDomain({ body: { name: 'lab', limits: { cpu: '4' } } })
  const student = await addUser('student@localhost', { domain: 'lab' })
  for (const [name, limits] of [['small', { cpu: '3' }] as const, ['wide', {}] as const, ['past', {}] as const]) {
    const { id } = await admin.createGroup({ body: { domain: 'lab', name, limits } })
    await admin.addGroupMember({ params: { id, userId: await idOf(student) } })
    if (name === 'past') await admin.updateGroup({ params: { id }, body: { active: false } })
  }
  const { items: projects } = await admin.listGroups({ query: {} })
  const usual = projects.find(({ domain, name }) => domain === 'lab' && name === 'default')
  if (usual) await admin.removeGroupMember({ params: { id: usual.id, userId: await idOf(student) } })
  await admin.createResourceGroup({ body: { name: 'reserved', domains: [] } })
  await admin.createResourceGroup({ body: { name: 'resting' } })
  await admin.updateResourceGroup({ params: { name: 'resting' }, body: { active: false, notice: 'until Monday' } })
  await admin.updateUser({ params: { id: await idOf(await addUser('left@localhost')) }, body: { active: false } })

  await member.createFolder({ body: { name: 'data' } })
  await member.createFolder({ body: { name: '.config' } })
  const { id } = await member.createFolder({ body: { name: 'thrown' } })
  await member.trashFolder({ params: { id } })
  callers = { admin, member, limited, barred, byKeypair, student }
})
let agent: ScriptedAgent | undefined
beforeEach(async () => {
  if (agent) return
  agent = await cluster.join({ capacity: { cpu: 8000, mem: 16 * 2 ** 30 } })
  const { id } = await cluster.launch({ name: 'cancelled', startsAt: inDays(1) }, callers.member)
  await callers.member.deleteSession({ params: { id } })
})
afterAll(() => cluster[Symbol.asyncDispose]())

/** The refusals of a launch and of a forecast of the same request. */
async function answers(who: Who, spec: Partial<SessionSpec>) {
  const body = { image: 'berth/python:3.13', ...spec }
  const launched = await refusal(callers[who].createSession({ body }))
  const forecast = await refusal(callers[who].whatIf({ body }))
  return { launched, forecast }
}

test.for<[what: string, who: Who, spec: Partial<SessionSpec>, code: string]>([
  ['another owner, by a user', 'member', { owner: 'limited@localhost' }, 'forbidden'],
  ['an unknown owner', 'admin', { owner: 'nobody@localhost' }, 'user_not_found'],
  ['an owner who has left', 'admin', { owner: 'left@localhost' }, 'user_not_found'],
  ['a start time that has passed', 'member', { startsAt: inDays(-1) }, 'bad_request'],
  ['a start time in two years', 'member', { startsAt: inDays(730) }, 'bad_request'],
  ['an unknown project', 'member', { group: 'none' }, 'group_not_found'],
  ['no project, by a member of several', 'student', {}, 'group_needed'],
  ['a project that is over', 'student', { group: 'past' }, 'group_inactive'],
  ['an unknown resource group', 'member', { resourceGroup: 'none' }, 'resource_group_not_found'],
  ['a resource group of others', 'member', { resourceGroup: 'reserved' }, 'resource_group_not_found'],
  ['a resource group that is closed', 'member', { resourceGroup: 'resting' }, 'resource_group_inactive'],
  ['an unknown image', 'member', { image: 'none' }, 'image_not_found'],
  ['more than any host has', 'member', { resources: { mem: '1t' } }, 'request_too_large'],
  ['more containers than the policy gives', 'limited', { clusterSize: 3 }, 'over_container_limit'],
  ['any session, for a user who may have none', 'barred', {}, 'over_concurrency_limit'],
  ['more than the policy of the user', 'limited', { resources: { cpu: '3' } }, 'over_user_policy'],
  [
    'more than the policy, in two containers',
    'limited',
    { resources: { cpu: '1.5' }, clusterSize: 2 },
    'over_user_policy',
  ],
  ['more than the policy of the keypair', 'byKeypair', { resources: { cpu: '2' } }, 'over_keypair_policy'],
  ['more than the project has', 'student', { group: 'small', resources: { cpu: '3.5' } }, 'over_group_limit'],
  ['more than the domain has', 'student', { group: 'wide', resources: { cpu: '4.5' } }, 'over_domain_limit'],
  ['a raised priority, by a user', 'member', { priority: 1 }, 'forbidden'],
  ['an unknown session to wait for', 'member', { dependsOn: ['none'] }, 'dependency_not_found'],
  ['an unknown folder', 'member', { folders: [{ folder: 'none' }] }, 'folder_not_found'],
  ['a folder in the trash', 'member', { folders: [{ folder: 'thrown' }] }, 'folder_not_found'],
  ['a folder inside an automatic one', 'member', { folders: [{ folder: 'data', path: '.config/x' }] }, 'bad_request'],
  // A cancelled session is no fault of the request: it would be accepted, and never start.
  [
    'a passed time, after a cancelled session',
    'member',
    { dependsOn: ['cancelled'], startsAt: inDays(-1) },
    'bad_request',
  ],
])('%s', async ([, who, spec, code]) => {
  const { launched, forecast } = await answers(who, spec)
  expect(launched.code).toBe(code)
  expect(forecast).toEqual(launched)
})

describe('of several faults, a launch and a forecast tell the same one', () => {
  /** Faults and their causes, in the order in which they are reported. */
  const FAULTS: readonly [cause: string, spec: Partial<SessionSpec>][] = [
    ['only_admin_launches_for_others', { owner: 'member@localhost' }],
    ['start_time_passed', { startsAt: inDays(-1) }],
    ['not_member_of_project', { group: 'none' }],
    ['group_without_access_in_project', { resourceGroup: 'none' }],
    ['image_unknown', { image: 'none' }],
    ['host_offers_at_most', { resources: { mem: '1t' } }],
    ['too_many_containers', { clusterSize: 3 }],
    ['priority_at_most', { priority: 1 }],
    ['dependency_unknown', { dependsOn: ['none'] }],
    ['folder_unknown', { folders: [{ folder: 'none' }] }],
  ]
  const cases = FAULTS.map(([cause], index) => {
    const rest = FAULTS.slice(index).map(([, spec]) => spec)
    return [cause, rest.length - 1, Object.assign({}, ...rest) as Partial<SessionSpec>] as const
  })

  test.for(cases)('%s goes before the %i faults after it', async ([cause, , spec]) => {
    const { launched, forecast } = await answers('limited', spec)
    expect(launched.detail.cause).toBe(cause)
    expect(forecast).toEqual(launched)
  })
})
