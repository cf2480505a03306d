import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  type ApiClient,
  type FINDING_KINDS,
  KernelId,
  type ScopeUsage,
  SessionId,
  type UserId,
} from '#manager/contract'
import { silentLog } from '../../../manager/log.ts'
import { insertKernelDevices, insertKernels } from '../../../manager/store/sessions/kernels.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { openStore, type Store } from '../../../manager/store/open-store.ts'
import { insertSessions } from '../../../manager/store/sessions/sessions.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { pulse } from '../../fixtures/pulse.ts'
import { gpus, PYTHON, type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { aSessionRow } from '../../fixtures/session-rows.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const GiB = 2 ** 30
const stack = new AsyncDisposableStack()
let cluster: SessionsCluster
let admin: ApiClient
/** The manager's store, to insert wrong records. */
let store: Store

beforeAll(async () => {
  const { url } = stack.use(await startDatabase())
  cluster = stack.use(await startSessionsCluster({ slowTickMs: 300 }, { databaseUrl: url }))
  admin = cluster.api
  store = stack.use(await openStore({ databaseUrl: url, dataDir: '/nonexistent', log: silentLog, migrate: false }))
})
afterAll(() => stack.disposeAsync())
afterEach(() => cluster.reset())

const of = (items: readonly ScopeUsage[], kind: ScopeUsage['kind']) => items.find(item => item.kind === kind)
const userId = async (api: ApiClient) => of((await api.getUsage({})).items, 'user')?.id as UserId

/** Reports only its own changes: only a query shows the manager which containers are missing. */
const silent = (more: object = {}): Promise<ScriptedAgent> =>
  cluster.join({ heartbeatMs: 60_000, capacity: { cpu: 8000, mem: 16 * GiB }, ...more })

test('limit, used and left are exact: three times 0.3 are 0.9', async () => {
  await cluster.join({
    capacity: { cpu: 8000, mem: 16 * GiB, 'cuda.shares': 200 },
    devices: gpus(2, 'cuda.shares'),
    images: [{ ...PYTHON, minimum: {} }],
  })
  const api = await cluster.addUser('exact@example.org')
  await admin.createResourcePolicy({
    body: { name: 'exact', limits: { cpu: '1', 'cuda.shares': '1' }, maxConcurrentSessions: 5 },
  })
  await admin.assignResourcePolicy({ params: { name: 'exact' }, body: { userId: await userId(api) } })
  for (let n = 0; n < 3; n++) {
    const { id } = await cluster.launch({ resources: { cpu: '0.3', mem: '1g', 'cuda.shares': '0.3' } }, api)
    await cluster.reach(id, 'RUNNING')
  }
  const held = { cpu: '0.9', mem: String(3 * GiB), 'cuda.shares': '0.9' }
  const { items } = await api.getUsage({})
  expect(items.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
    'user exact@example.org',
    'group default',
    'domain default',
  ])
  expect(of(items, 'user')).toMatchObject({
    policy: 'exact',
    limits: { cpu: '1', 'cuda.shares': '1' },
    held,
    left: { cpu: '0.1', 'cuda.shares': '0.1' },
    sessions: 3,
    maxSessions: 5,
  })
  expect(await api.getResources({})).toMatchObject({ left: { cpu: '0.1', 'cuda.shares': '0.1' }, sessionsLeft: 2 })
})

test('a GPU counts until its kernel ends, not until the whole session ends', async () => {
  const agent = await cluster.join({ capacity: { cpu: 8000, mem: 16 * GiB, 'cuda.device': 2 }, devices: gpus(2) })
  const { id } = await cluster.launch({ clusterSize: 2, resources: { cpu: '1', 'cuda.device': '1' } })
  const [main, sub] = (await cluster.reach(id, 'RUNNING')).kernels
  if (!main || !sub) throw new Error('two kernels')
  using _ = pulse(agent, main.id)
  await sql`update sessions set started_at = now() - interval '2 hours' where id = ${id}`.execute(store.db)
  const gpuHours = async () => ((await admin.getSession({ params: { id } })).usage?.gpuSeconds ?? 0) / 3600
  await expect.poll(gpuHours).toBeCloseTo(4, 1)
  agent.change(sub.id, { state: 'exited', containerId: 'x', exitCode: 0, oomKilled: false, engineRestarted: false })
  await expect
    .poll(async () => (await admin.getSession({ params: { id } })).kernels.map(kernel => kernel.status))
    .toEqual(['RUNNING', 'TERMINATED'])
  await sql`update kernels set ended_at = ended_at - interval '1 hour' where session_id = ${id}`.execute(store.db)
  expect(await gpuHours()).toBeCloseTo(3, 1)
  await admin.deleteSession({ params: { id } })
  await cluster.reach(id, 'TERMINATED')
  expect(await gpuHours()).toBeCloseTo(3, 1)
  const from = new Date(Date.now() - 4 * 3_600_000).toISOString()
  const { items: agents } = await admin.getUsageReport({ query: { by: 'agent', from } })
  expect(agents.find(({ key }) => key === main.agentId)).toMatchObject({
    sessions: 1,
    gpuHours: expect.closeTo(3, 1) as number,
    cpuHours: expect.closeTo(3, 1) as number,
  })
  const ends = sql<{ same: boolean }>`
    select k.ended_at = s.ended_at as same from kernels k join sessions s on s.id = k.session_id
    where s.id = ${id} order by k.role`
  expect((await ends.execute(store.db)).rows.map(({ same }) => same)).toEqual([true, false])
})

test('GPU-hours of a report agree to the second with the timelines of the sessions, by whatever they are added up', async () => {
  await cluster.join({ capacity: { cpu: 8000, mem: 16 * GiB, 'cuda.device': 2 }, devices: gpus(2) })
  const from = new Date(Date.now() - 60_000).toISOString()
  const launched = [
    await cluster.launch({ resources: { cpu: '1', 'cuda.device': '1' } }),
    await cluster.launch({ resources: { cpu: '1', 'cuda.device': '1' } }),
    // The third session waits until a GPU is free: time in the queue does not count.
    await cluster.launch({ resources: { cpu: '1', 'cuda.device': '1' } }),
  ]
  const [first, second, third] = launched.map(({ id }) => id)
  if (!first || !second || !third) throw new Error('three sessions')
  for (const id of [first, second]) await cluster.reach(id, 'RUNNING')
  await wait(1_500)
  await admin.deleteSession({ params: { id: first } })
  await cluster.reach(third, 'RUNNING')
  await wait(1_500)
  for (const id of [second, third]) {
    await admin.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
  }
  let seconds = 0
  for (const id of [first, second, third]) {
    const { items } = await admin.listSessionEvents({ params: { id } })
    const at = (status: string) => Date.parse(items.find(({ to }) => to === status)?.at ?? '')
    seconds += (at('TERMINATED') - at('RUNNING')) / 1000
  }
  expect(seconds).toBeGreaterThan(4)
  // Earlier tests of this file used GPUs too, on agents and in sessions of their own.
  const ours = new Set(
    (await admin.listSessions({ query: { ids: launched.map(({ id }) => id).join(',') } })).items.map(
      one => one.kernels[0]?.agentId,
    ),
  )
  expect(ours.size).toBe(1)
  const report = async (by: 'agent' | 'user') => (await admin.getUsageReport({ query: { by, from } })).items
  const onAgent = (await report('agent')).find(({ key }) => ours.has(key as never))
  expect(onAgent?.sessions).toBe(3)
  expect(Math.abs((onAgent?.gpuHours ?? 0) * 3600 - seconds)).toBeLessThan(1)
  const sum = (rows: Awaited<ReturnType<typeof report>>) => rows.reduce((total, row) => total + row.gpuHours, 0)
  expect(sum(await report('user'))).toBeCloseTo(sum(await report('agent')), 5)
})

test('the usage of others is for admins: a superadmin sees all, an admin of a domain that of the domain', async () => {
  const ann = await cluster.addUser('ann@example.org')
  const theBoss = await cluster.addUser('boss@example.org', { role: 'domain_admin' })
  const [annId, bossId] = [await userId(ann), await userId(theBoss)]
  await admin.createDomain({ body: { name: 'elsewhere' } })
  for (const api of [admin, theBoss]) {
    expect(of((await api.getUsage({ query: { userId: annId } })).items, 'user')?.id).toBe(annId)
    const { items } = await api.getUsage({ query: { domain: 'default' } })
    expect(items.map(({ kind }) => kind)).toEqual(['group', 'domain'])
    const group = of(items, 'group')?.id
    const { items: one } = await api.getUsage({ query: { groupId: group } })
    expect(one.map(({ id }) => id)).toEqual([group])
  }
  expect((await refusal(ann.getUsage({ query: { userId: bossId } }))).code).toBe('user_not_found')
  expect((await refusal(ann.getUsage({ query: { domain: 'elsewhere' } }))).code).toBe('domain_not_found')
  expect((await refusal(theBoss.getUsage({ query: { domain: 'elsewhere' } }))).code).toBe('domain_not_found')
  expect((await refusal(ann.getUsage({ query: { userId: bossId, domain: 'default' } }))).code).toBe('bad_request')
})

test('the launch dialog learns what is left, without agents of resource groups that the user may not use', async () => {
  await admin.createResourceGroup({ body: { name: 'hidden', domains: [] } })
  await cluster.join({ capacity: { cpu: 4000, mem: 8 * GiB } })
  const { join } = await admin.createJoinToken({ body: { resourceGroup: 'hidden' } })
  await cluster.join({ join, capacity: { cpu: 32_000, mem: 64 * GiB } })
  const api = await cluster.addUser('dialog@example.org')
  await admin.createResourcePolicy({ body: { name: 'dialog', limits: { cpu: '3' }, maxConcurrentSessions: 4 } })
  await admin.assignResourcePolicy({ params: { name: 'dialog' }, body: { userId: await userId(api) } })
  await cluster.reach((await cluster.launch({ resources: { cpu: '1' } }, api)).id, 'RUNNING')
  expect(await api.getResources({})).toMatchObject({
    largest: { cpu: '4' },
    free: { cpu: '3' },
    left: { cpu: '2' },
    sessionsLeft: 3,
    capacity: { cpu: '4' },
  })
  expect(await admin.getResources({})).toMatchObject({ capacity: { cpu: '36' }, left: {}, sessionsLeft: null })
  expect(await admin.getResources({ query: { resourceGroup: 'hidden' } })).toMatchObject({ capacity: { cpu: '32' } })
})

test('recalculating finds no difference when there is none, whatever the sessions are doing', async () => {
  const agent = await silent()
  const sessions = await Promise.all([1, 2, 3].map(() => cluster.launch({ resources: { cpu: '1' } })))
  for (const { id } of sessions) await cluster.reach(id, 'RUNNING')
  const [first] = sessions
  if (!first) throw new Error('three sessions')
  // A session waits, another is starting, and a third is ending.
  agent.script.destroy_kernel = () => new Promise<never>(() => undefined)
  await admin.deleteSession({ params: { id: first.id } })
  await cluster.launch({ resources: { cpu: '8' } })
  agent.script.create_kernel = () => new Promise<never>(() => undefined)
  const { id: starting } = await cluster.launch({ resources: { cpu: '1' } })
  await cluster.reach(starting, 'PREPARING')
  const done = await admin.recalculateUsage()
  expect(done).toEqual({
    findings: [],
    correctedDays: 0,
    agents: [{ agentId: agent.id, name: agent.name, compared: true, why: null, containers: 3 }],
  })
  await agent.disconnect()
  const why = 'The host is not connected. Try again once it is back.'
  expect((await admin.recalculateUsage()).agents).toEqual([
    {
      agentId: agent.id,
      name: agent.name,
      compared: false,
      why,
      whyBy: { cause: 'host_not_connected' },
      containers: 0,
    },
  ])
})

test('recalculating ends sessions without containers, adopts containers without rows, and corrects amounts', async () => {
  const agent = await silent({
    capacity: { cpu: 8000, mem: 16 * GiB, 'cuda.device': 2 },
    devices: gpus(2),
  })
  const [gone, exited, changed, forgotten] = await Promise.all(
    ['gone', 'exited', 'changed', 'forgotten'].map(name =>
      cluster.launch({
        name: `the-${name}`,
        resources: { cpu: '1', ...(name === 'changed' ? { 'cuda.device': '1' } : {}) },
      }),
    ),
  )
  if (!gone || !exited || !changed || !forgotten) throw new Error('four sessions')
  const kernelOf = async ({ id }: { id: SessionId }) => {
    const kernel = (await cluster.reach(id, 'RUNNING')).kernels[0]
    if (!kernel) throw new Error('a session has a kernel')
    return kernel.id
  }
  const kernels = {
    gone: await kernelOf(gone),
    exited: await kernelOf(exited),
    changed: await kernelOf(changed),
    forgotten: await kernelOf(forgotten),
  }
  // Removed without anybody noticing.
  agent.containers.delete(kernels.gone)
  const container = agent.containers.get(kernels.exited)
  if (!container) throw new Error('it has a container')
  container.state = { state: 'exited', containerId: 'x', exitCode: 3, oomKilled: false, engineRestarted: false }
  const planted = await plant(agent)
  const slots = JSON.stringify({ cpu: 7000, mem: GiB })
  await store.db.updateTable('kernels').set({ slots }).where('id', '=', kernels.changed).execute()
  await store.db.deleteFrom('kernel_devices').where('kernel_id', '=', kernels.changed).execute()
  await store.db.deleteFrom('sessions').where('id', '=', forgotten.id).execute()
  const { kernelId: halfEnded } = await plant(agent, 'TERMINATED')

  const { findings } = await admin.recalculateUsage()
  const found = new Map(findings.map(({ kind, kernelId }) => [kernelId, kind]))
  const expected: [KernelId, (typeof FINDING_KINDS)[number]][] = [
    [kernels.gone, 'container_gone'],
    [planted.kernelId, 'container_gone'],
    [kernels.exited, 'not_told'],
    [kernels.changed, 'other_amounts'],
    [kernels.forgotten, 'unknown_container'],
    [halfEnded, 'kernel_of_ended_session'],
  ]
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
  expect((await cluster.reach(gone.id, 'TERMINATED')).reason.code).toBe('container_gone')
  expect((await cluster.reach(planted.sessionId, 'TERMINATED')).reason.code).toBe('container_gone')
  expect((await cluster.reach(exited.id, 'TERMINATED')).reason.code).toBe('exited')
  expect((await cluster.reach(forgotten.id, 'RUNNING')).reason.code).toBe('imported')
  expect(await cluster.timeline(gone.id)).toContain('TERMINATED container_gone')
  const { items } = await admin.listAgents()
  expect(items[0]?.occupied).toMatchObject({ cpu: '2', 'cuda.device': '1' })
  const devices = (await admin.getSession({ params: { id: changed.id } })).kernels[0]?.devices
  expect(devices).toMatchObject([{ slot: 'cuda.device', amount: '1' }])
  expect((await admin.recalculateUsage()).findings).toEqual([])
})

test('containers of ended sessions, or of unknown kernels, are orphans', async () => {
  const agent = await silent()
  const [ended, known] = await Promise.all([1, 2].map(() => cluster.launch({ resources: { cpu: '1' } })))
  const [kernel, other] = await Promise.all(
    [ended, known].map(async session => (await cluster.reach(session?.id ?? newId(SessionId), 'RUNNING')).kernels[0]),
  )
  const container = agent.containers.get(other?.id ?? newId(KernelId))
  if (!kernel || !container) throw new Error('two kernels')
  const nameless = newId(KernelId)
  const label = await cluster.signed({ ...container.label, kernelId: nameless })
  agent.containers.set(nameless, { ...container, label })
  await sql`update sessions set status = 'TERMINATED', ended_at = now() where id = ${ended?.id}`.execute(store.db)
  await sql`update kernels set status = 'TERMINATED', ended_at = now() where id = ${kernel.id}`.execute(store.db)
  const { findings } = await admin.recalculateUsage()
  expect(findings.map(({ kind, kernelId }) => `${kind} ${kernelId}`).toSorted()).toEqual(
    [kernel.id, nameless].map(id => `orphan_container ${id}`).toSorted(),
  )
  await expect.poll(() => [...agent.containers.keys()]).toEqual([other?.id])
  expect((await admin.recalculateUsage()).findings).toEqual([])
})

test('recalculating is for superadmins', async () => {
  const api = await cluster.addUser('curious@example.org')
  expect((await refusal(api.recalculateUsage())).code).toBe('forbidden')
})

/** An invented row: a session that is claimed to run on the agent. */
async function plant(agent: ScriptedAgent, status: 'RUNNING' | 'TERMINATED' = 'RUNNING') {
  const [sessionId, kernelId] = [newId(SessionId), newId(KernelId)]
  const ownerId = await userId(admin)
  const slots = { cpu: 1000, mem: GiB, 'cuda.device': 1 }
  await insertSessions(store.db, [
    aSessionRow(ownerId, {
      id: sessionId,
      name: `planted-${sessionId.slice(-6)}`,
      status,
      image: 'berth/python:3.13',
      imageDigest: PYTHON.id,
      requested: slots,
      attempt: 1,
    }),
  ])
  const containerId = `planted-${kernelId}`
  await insertKernels(store.db, [
    { id: kernelId, sessionId, status: 'RUNNING', slots, agentId: agent.id, attempt: 1, containerId },
  ])
  const uuid = agent.devices[1]?.uuid ?? 'none'
  await insertKernelDevices(store.db, [
    { kernel_id: kernelId, agent_id: agent.id, uuid, slot: 'cuda.device', amount: 1 },
  ])
  return { sessionId, kernelId }
}
