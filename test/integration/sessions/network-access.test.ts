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
  await bound(null)
  await ofDomain(null)
  await cluster.reset()
})
afterAll(() => cluster[Symbol.asyncDispose]())

const bound = (allowedNames: ResourcePolicy['allowedNames']) =>
  cluster.api.updateResourcePolicy({ params: { name: 'bound' }, body: { allowedNames } })
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
