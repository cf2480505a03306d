import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Session, type SessionId, type SessionSpec, type SessionStatus } from '#manager/contract'
import { type Manager } from '../../../manager/manager.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { type Managers, startManagers } from '../../fixtures/managers.ts'
import { type MeshAgent, scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

/** Interruptions of sessions with several kernels, scheduled by one of two managers. */
const WARN_SECONDS = 5
const CPUS = 4
let managers: Managers
beforeAll(async () => {
  managers = await startManagers()
})
afterAll(() => (managers as Managers | undefined)?.[Symbol.asyncDispose]())

interface World extends AsyncDisposable {
  readonly a: Manager
  readonly b: Manager
  readonly atA: ApiClient
  readonly atB: ApiClient
  readonly agent: MeshAgent
}

async function start(): Promise<World> {
  await using stack = new AsyncDisposableStack()
  const a = stack.use(await managers.start())
  const b = stack.use(await managers.start())
  const { path: home } = stack.use(await temporaryDirectory())
  const { join } = await a.createJoinToken()
  const engine = scriptedEngine({ capacity: { cpu: CPUS * 1000, mem: 16 * 2 ** 30 } })
  const agent = stack.use(await startMeshAgent({ home, engine, join }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const [{ api: atA }, { api: atB }] = [await managers.admin(a), await managers.admin(b)]
  const interruption = { minRunSeconds: 0, warnSeconds: WARN_SECONDS }
  await atA.updateResourceGroup({ params: { name: 'default' }, body: { options: { interruption } } })
  const opened = stack.move()
  return { a, b, atA, atB, agent, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function launch(api: ApiClient, spec: Partial<SessionSpec>): Promise<SessionId> {
  const { items } = await api.createSession({ body: { image: 'berth/python:3.13', ...spec } })
  return (items[0] as Session).id
}
const get = (api: ApiClient, id: SessionId) => api.getSession({ params: { id } })
const reach = (api: ApiClient, id: SessionId, status: SessionStatus) =>
  expect.poll(async () => (await get(api, id)).status, { interval: 50 }).toBe(status)
const whole = { resources: { cpu: String(CPUS), mem: '1g' } }
const threeKernels = { clusterSize: 3, resources: { cpu: '1', mem: '1g' }, interruptible: true }
const warned = (api: ApiClient, id: SessionId) =>
  expect.poll(async () => (await get(api, id)).interruptAt, { interval: 50 }).not.toBeNull()

test('the manager that schedules ends in the countdown: the other one stops all kernels, once, and the session returns to its place', async () => {
  await using world = await start()
  const { a, b, atA, agent } = world
  // The remaining manager after the other one has ended during the countdown.
  let atB = world.atB
  const victim = await launch(atA, threeKernels)
  await reach(atB, victim, 'RUNNING')
  const old = (await get(atB, victim)).kernels.map(({ id }) => id)
  const later = await launch(atB, whole)
  const urgent = await launch(atB, { ...whole, priority: 5 })
  await warned(atB, victim)
  const { interruptAt } = await get(atB, victim)
  await expect.poll(() => agent.engine.requests('warn_kernel').length).toBeGreaterThanOrEqual(3)
  const scheduling = (await atA.listManagers()).items.find(({ schedules }) => schedules.includes('default'))
  if (scheduling?.self === false) atB = atA
  await (scheduling?.self === false ? b : a)[Symbol.asyncDispose]()

  await reach(atB, urgent, 'RUNNING')
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(interruptAt ?? '') - 1_000)
  expect(await get(atB, victim)).toMatchObject({ status: 'PENDING', interruptions: 1, interruptAt: null })
  const destroyed = agent.engine.requests('destroy_kernel')
  expect(new Set(destroyed.map(({ kernelId }) => kernelId))).toEqual(new Set(old))
  // Both managers ask the agent to keep the homes of the interrupted session.
  for (const { keepFilesMs } of destroyed) expect(keepFilesMs).toBe(30 * 86_400_000)
  for (const id of old) expect(agent.engine.containers.has(id)).toBe(false)

  await atB.deleteSession({ params: { id: urgent } })
  await reach(atB, victim, 'RUNNING')
  expect((await get(atB, later)).status).toBe('PENDING')
  const again = (await get(atB, victim)).kernels.map(({ id }) => id)
  expect(again).toHaveLength(3)
  const created = agent.engine.requests('create_kernel').filter(({ spec }) => again.includes(spec.kernelId))
  expect(new Set(created.map(({ spec }) => spec.filesOf))).toEqual(new Set(old))
  const { items } = await atB.listSessionEvents({ params: { id: victim } })
  const codes = items.map(({ to, reason }) => `${to} ${reason.code}`)
  for (const once of ['TERMINATING interrupted', 'PENDING interrupted'])
    expect(codes.filter(code => code === once)).toHaveLength(1)
  const audited = await atB.listAuditLog({ query: { action: 'interruptSession' } })
  expect(audited.items.filter(({ target }) => target === `session:${victim}`)).toHaveLength(1)
  for (const id of [later, victim]) await atB.deleteSession({ params: { id } })
})

test('a session that its owner ends in the countdown, at the other manager, does not come back', async () => {
  await using world = await start()
  const { atA, atB, agent } = world
  const victim = await launch(atA, threeKernels)
  await reach(atB, victim, 'RUNNING')
  const urgent = await launch(atA, { ...whole, priority: 5 })
  await warned(atB, victim)
  await atB.deleteSession({ params: { id: victim } })
  await reach(atA, victim, 'TERMINATED')
  await reach(atB, urgent, 'RUNNING')
  expect((await get(atA, victim)).interruptions).toBe(0)
  expect(agent.engine.requests('destroy_kernel').filter(({ keepFilesMs }) => keepFilesMs !== undefined)).toEqual([])
  await atA.deleteSession({ params: { id: urgent } })
  await reach(atB, urgent, 'TERMINATED')
})
