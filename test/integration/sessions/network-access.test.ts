import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  type ApiClient,
  type Domain,
  type NetworkAccess,
  type ResourcePolicy,
  type Session,
  type UserId,
} from '#manager/contract'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster
let user: ApiClient
let userId: UserId
beforeAll(async () => {
  cluster = await startSessionsCluster()
  user = await cluster.addUser('user@localhost')
  userId = (await user.me()).user.id
  await cluster.api.createResourcePolicy({ body: { name: 'bound' } })
  await cluster.api.assignResourcePolicy({ params: { name: 'bound' }, body: { userId } })
})
afterEach(async () => {
  await ofPolicy({ allowedNames: null, defaultNames: null })
  await cluster.api.updateDomain({ params: { name: 'default' }, body: { allowedNames: null, defaultNames: null } })
  await cluster.reset()
})
afterAll(() => cluster[Symbol.asyncDispose]())

const ofPolicy = (body: Partial<Pick<ResourcePolicy, 'allowedNames' | 'defaultNames'>>) =>
  cluster.api.updateResourcePolicy({ params: { name: 'bound' }, body })
const bound = (allowedNames: ResourcePolicy['allowedNames']) => ofPolicy({ allowedNames })
const ofDomain = (allowedNames: Domain['allowedNames']) =>
  cluster.api.updateDomain({ params: { name: 'default' }, body: { allowedNames } })
const join = (restricts?: boolean) =>
  cluster.join({ capacity: { cpu: 8000, mem: 2 ** 34 }, ...(restricts === undefined ? {} : { restricts }) })
const launch = (network?: NetworkAccess) => cluster.launch({ ...(network && { network }) }, user)
const refused = (network?: NetworkAccess) =>
  refusal(user.createSession({ body: { image: 'berth/python:3.13', ...(network && { network }) } }))
const LIST: NetworkAccess = { mode: 'allowlist', names: ['PyPI.org', '*.example.org'] }

test('the agent gets the names, and the session shows them', async () => {
  const agent = await join(true)
  const { id } = await launch(LIST)
  const running = await cluster.reach(id, 'RUNNING')
  expect(running.network).toEqual({ mode: 'allowlist', names: ['pypi.org', '*.example.org'] })
  expect(agent.requests('create_kernel')[0]?.spec.allowedNames).toEqual(['pypi.org', '*.example.org'])
  const none = await launch({ mode: 'none' })
  await cluster.reach(none.id, 'RUNNING')
  expect(agent.requests('create_kernel')[1]?.spec.allowedNames).toEqual([])
  const full = await launch()
  expect((await cluster.reach(full.id, 'RUNNING')).network).toEqual({ mode: 'full' })
  expect(agent.requests('create_kernel')[2]?.spec).not.toHaveProperty('allowedNames')
})

test('a launch that chooses nothing gets what policy and domain allow together', async () => {
  await join(true)
  await bound(['*.example.org', 'pypi.org'])
  const network = async (): Promise<Session['network']> => (await launch()).network
  expect(await network()).toEqual({ mode: 'allowlist', names: ['*.example.org', 'pypi.org'] })
  await ofDomain(['a.example.org', 'b.org'])
  expect(await network()).toEqual({ mode: 'allowlist', names: ['a.example.org'] })
  await ofDomain([])
  expect(await network()).toEqual({ mode: 'none' })
})

test('a default of less than the limit: what a launch gets that chooses nothing, and the answers say why', async () => {
  await join(true)
  await ofPolicy({ defaultNames: [] })
  const asked = { body: { image: 'berth/python:3.13' } }
  const told = { code: 'network_by_default', cause: 'network_default_none_of_policy', values: { name: 'bound' } }
  expect((await user.whatIf(asked)).notices).toMatchObject([told])
  const { items, notices } = await user.createSession(asked)
  expect([items[0]?.network, notices]).toMatchObject([{ mode: 'none' }, [told]])
  expect((await launch({ mode: 'full' })).network).toEqual({ mode: 'full' })
  expect((await launch(LIST)).network.mode).toBe('allowlist')
  await ofPolicy({ defaultNames: ['pypi.org', 'a.example.org'], allowedNames: ['*.example.org', 'b.org'] })
  await cluster.api.updateDomain({ params: { name: 'default' }, body: { defaultNames: ['*.example.org'] } })
  const less = await user.createSession(asked)
  expect(less.items[0]?.network).toEqual({ mode: 'allowlist', names: ['a.example.org'] })
  expect(less.notices).toMatchObject([{ cause: 'network_default_list_of_domain', values: { name: 'default' } }])
  expect(await refused({ mode: 'full' })).toMatchObject({ detail: { cause: 'network_list_of_policy' } })
})

test('where no host can keep sessions in, a launch that chooses nothing is refused with whose default that is; full may be chosen', async () => {
  const agent = await join(false)
  await ofPolicy({ defaultNames: [] })
  const byDefault = {
    code: 'network_not_enforceable',
    detail: { cause: 'no_host_restricts_default_of_policy', values: { name: 'bound' } },
  }
  expect(await refused()).toMatchObject(byDefault)
  expect(await refusal(user.whatIf({ body: { image: 'berth/python:3.13' } }))).toMatchObject(byDefault)
  expect(await refused({ mode: 'none' })).toMatchObject({ detail: { cause: 'no_host_restricts' } })
  const { id } = await launch({ mode: 'full' })
  await cluster.reach(id, 'RUNNING')
  expect(agent.requests('create_kernel').map(({ spec }) => spec.allowedNames)).toEqual([undefined])
  await ofPolicy({ defaultNames: null })
  await cluster.api.updateDomain({ params: { name: 'default' }, body: { defaultNames: ['pypi.org'] } })
  expect(await refused()).toMatchObject({ detail: { cause: 'no_host_restricts_default_of_domain' } })
})

test('a session that had everything starts again with everything, whatever the default is by then', async () => {
  await join(true)
  const { id } = await launch()
  await cluster.reach(id, 'RUNNING')
  await user.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
  await ofPolicy({ defaultNames: [] })
  const again = await user.restartSession({ params: { id }, body: {} })
  expect(again.network).toEqual({ mode: 'full' })
  await cluster.reach(again.id, 'RUNNING')
  await user.deleteSession({ params: { id: again.id } })
  await cluster.reach(again.id, 'TERMINATED')
  await bound(['pypi.org'])
  const less = await user.restartSession({ params: { id: again.id }, body: {} })
  expect(less.network).toEqual({ mode: 'none' })
  expect(less.notices).toMatchObject([{ code: 'network_by_default' }])
})

test('a session over several hosts without network runs only where each host keeps its container in', async () => {
  const capacity = { cpu: 2000, mem: 2 ** 33 }
  const lax = await cluster.join({ capacity, clusterAddress: '10.1.1.1' })
  const body = {
    image: 'berth/python:3.13',
    resources: { cpu: '2', mem: '1g' },
    clusterSize: 2,
    clusterMode: 'multi-host' as const,
    network: { mode: 'none' as const },
  }
  expect(await refusal(user.createSession({ body }))).toMatchObject({ code: 'network_not_enforceable' })
  const first = await cluster.join({ capacity, clusterAddress: '10.1.1.2', restricts: true })
  expect((await user.whatIf({ body })).startsNow).toBe(false)
  const second = await cluster.join({ capacity, clusterAddress: '10.1.1.3', restricts: true })
  const { id } = await cluster.launch(body, user)
  await cluster.reach(id, 'RUNNING')
  expect([lax, first, second].map(agent => agent.requests('create_kernel').length)).toEqual([0, 1, 1])
  expect(first.requests('create_kernel')[0]?.spec.allowedNames).toEqual([])
})

test('a request for more is refused with the policy or the domain and what it allows', async () => {
  await join(true)
  await bound(['*.example.org'])
  expect(await refused({ mode: 'full' })).toMatchObject({
    code: 'network_not_allowed',
    detail: { cause: 'network_list_of_policy' },
  })
  expect(await refused(LIST)).toMatchObject({
    code: 'network_not_allowed',
    detail: { cause: 'network_name_beyond_policy' },
  })
  expect((await launch({ mode: 'allowlist', names: ['deep.a.example.org'] })).network.mode).toBe('allowlist')
  expect((await launch({ mode: 'none' })).network.mode).toBe('none')
  await bound(null)
  await ofDomain([])
  const forecast = await refusal(user.whatIf({ body: { image: 'berth/python:3.13', network: LIST } }))
  expect(forecast).toMatchObject({ code: 'network_not_allowed', detail: { cause: 'network_none_of_domain' } })
})

test.each([
  [{ mode: 'allowlist' as const }],
  [{ mode: 'none' as const, names: ['a.org'] }],
  [{ mode: 'allowlist' as const, names: ['10.0.0.1'] }],
  [{ mode: 'allowlist' as const, names: Array.from({ length: 65 }, (_, n) => `n${n}.org`) }],
])('%j is no network', async network => {
  expect(await refused(network)).toMatchObject({ code: 'bad_request' })
})

test('no host that can keep sessions in: refused at once; an older agent never gets such a session', async () => {
  const agent = await join()
  expect(await refused({ mode: 'none' })).toMatchObject({ code: 'network_not_enforceable' })
  agent.restricts = true
  agent.report()
  await expect
    .poll(() =>
      launch({ mode: 'none' }).then(
        ({ network }) => network.mode,
        () => 'refused',
      ),
    )
    .toBe('none')
})

test('a session waits while the only host that could keep it in cannot, and names that', async () => {
  const agent = await join(true)
  const later = new Date(Date.now() + 86_400_000).toISOString()
  const { id } = await cluster.launch({ name: 'later', network: { mode: 'none' }, startsAt: later }, user)
  agent.restricts = false
  agent.report()
  expect(agent.requests('create_kernel')).toHaveLength(0)
  expect((await user.getSession({ params: { id } })).status).toBe('PENDING')
})

test('limits are read again before a waiting session starts', async () => {
  const agent = await join(true)
  const all = { cpu: '8', mem: '1g' }
  const first = await cluster.launch({ name: 'first', resources: all }, user)
  await cluster.reach(first.id, 'RUNNING')
  const { id } = await cluster.launch({ name: 'second', resources: all, network: LIST }, user)
  await bound(['pypi.org'])
  await user.deleteSession({ params: { id: first.id } })
  await expect.poll(() => cluster.reasonOf(id)).toMatch(/network_withdrawn|\*\.example\.org/)
  await bound(null)
  await cluster.reach(id, 'RUNNING')
  expect(agent.requests('create_kernel')).toHaveLength(2)
})
