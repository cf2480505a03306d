import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type KernelId, type Session, type SessionId } from '#manager/contract'
import { startSessionsCluster, type SessionsCluster } from '../../fixtures/sessions-cluster.ts'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'

const WARN_SECONDS = 5
let cluster: SessionsCluster
let agent: ScriptedAgent

beforeAll(async () => {
  cluster = await startSessionsCluster({ slowTickMs: 200 })
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
})
beforeEach(async () => {
  await cluster.reset()
  agent = await cluster.join({ capacity: { cpu: 4000, mem: 16 * 2 ** 30 } })
  await allow({ interruption: { minRunSeconds: 0, warnSeconds: WARN_SECONDS } })
})

const allow = (options: object) => cluster.api.updateResourceGroup({ params: { name: 'default' }, body: { options } })
const get = (id: SessionId) => cluster.api.getSession({ params: { id } })
const all = { resources: { cpu: '4', mem: '1g' } }
const eventually = (look: () => Promise<unknown>) => expect.poll(look, { interval: 50 })

async function running(): Promise<Session> {
  const { id } = await cluster.launch({ ...all, interruptible: true })
  return cluster.reach(id, 'RUNNING')
}
/** A session of higher priority, for which the other session is warned. */
async function urgent(of: SessionId): Promise<Session> {
  const session = await cluster.launch({ ...all, priority: 5 })
  await eventually(async () => (await get(of)).interruptAt).not.toBeNull()
  return session
}
const warned = () => agent.requests('warn_kernel').map(({ at }) => at)

test('nobody is interrupted unless the resource group allows it and the owner agreed', async () => {
  await allow({})
  const first = await running()
  const { id } = await cluster.launch({ ...all, priority: 5 })
  await eventually(() => cluster.reasonOf(id)).toBe('capacity')
  expect((await get(first.id)).interruptAt).toBeNull()
  await allow({ interruption: { minRunSeconds: 3600, warnSeconds: WARN_SECONDS } })
  const smaller = await cluster.launch({ ...all, priority: 4 })
  await eventually(() => cluster.reasonOf(smaller.id)).toBe('capacity')
  expect((await get(first.id)).interruptAt).toBeNull()
})

test('the interruption is called off when the session for which it was is gone', async () => {
  const first = await running()
  const second = await urgent(first.id)
  const { interruptAt } = await get(first.id)
  await eventually(async () => (await get(second.id)).reason).toMatchObject({
    code: 'interrupting',
    interrupts: { sessions: 1, at: interruptAt },
  })
  await eventually(() => Promise.resolve(warned())).toEqual([interruptAt])
  await cluster.api.deleteSession({ params: { id: second.id } })
  await eventually(async () => (await get(first.id)).interruptAt).toBeNull()
  await eventually(() => Promise.resolve(warned())).toEqual([interruptAt, null])
  expect(await cluster.timeline(first.id)).toEqual(
    expect.arrayContaining(['RUNNING interruption_announced', 'RUNNING interruption_called_off']),
  )
  expect((await get(first.id)).status).toBe('RUNNING')
})

test('it continues at its old place with its files; the countdown outlives the manager', async () => {
  const first = await running()
  const [kernel] = first.kernels
  const last = agent.containers.get(kernel?.id as KernelId)
  const later = await cluster.launch(all)
  const second = await urgent(first.id)
  const { interruptAt } = await get(first.id)
  await cluster.restart()
  await agent.connect()
  const waiting = await cluster.reach(first.id, 'PENDING')
  expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(interruptAt ?? '') - 1_000)
  expect(agent.requests('destroy_kernel')).toMatchObject([{ kernelId: kernel?.id, keepFilesMs: 30 * 86_400_000 }])
  // A report created before the end that arrives after it does not cost the files.
  if (!kernel || !last) throw new Error('no kernel')
  agent.containers.set(kernel.id, last)
  // A further report may be in transit when the manager asks; it ends the container once more.
  await eventually(() => Promise.resolve(agent.requests('destroy_kernel').length)).toBeGreaterThanOrEqual(2)
  for (const { keepFilesMs } of agent.requests('destroy_kernel')) expect(keepFilesMs).toBe(30 * 86_400_000)
  expect(waiting).toMatchObject({ interruptions: 1, interruptAt: null, startedAt: null })
  await cluster.reach(second.id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id: second.id } })
  const again = await cluster.reach(first.id, 'RUNNING')
  expect((await get(later.id)).status).toBe('PENDING')
  expect(again.id).toBe(first.id)
  expect(again.kernels[0]?.id).not.toBe(kernel.id)
  const { spec } = agent.requests('create_kernel').at(-1) ?? {}
  expect(spec).toMatchObject({ sessionId: first.id, kernelId: again.kernels[0]?.id, filesOf: kernel.id })
  expect(await cluster.timeline(first.id)).toEqual(
    expect.arrayContaining(['TERMINATING interrupted', 'PENDING interrupted']),
  )
  const { items } = await cluster.api.listAuditLog({ query: { action: 'interruptSession' } })
  const target = `session:${first.id}`
  expect(items.filter(one => one.target === target)).toMatchObject([{ detail: { for: second.id } }])
  // Amounts that the session held before it was interrupted count.
  const report = await cluster.api.getUsageReport({
    query: { by: 'agent', from: first.createdAt, to: new Date(Date.now() + 1_000).toISOString() },
  })
  const { sessions, cpuHours } = report.items.find(row => row.key === agent.id) ?? { sessions: 0, cpuHours: 0 }
  expect(sessions).toBe(2)
  expect(cpuHours * 3600).toBeGreaterThan(4 * WARN_SECONDS)
})

describe('a session that is being interrupted', () => {
  test('ends its countdown with exit code 75, and is cancelled to what it was after its run', async () => {
    const first = await running()
    const [kernel] = first.kernels
    if (!kernel) throw new Error('no kernel')
    const second = await urgent(first.id)
    const ended = { exitCode: 75, oomKilled: false, engineRestarted: false }
    agent.change(kernel.id, { state: 'exited', containerId: kernel.containerId ?? '', ...ended })
    await cluster.reach(first.id, 'PENDING')
    await cluster.reach(second.id, 'RUNNING')
    const cancelled = await cluster.api.deleteSession({ params: { id: first.id } })
    expect(cancelled).toMatchObject({ status: 'CANCELLED', startedAt: first.startedAt })
    expect(cancelled.kernels).toMatchObject([{ id: kernel.id, agentId: agent.id, exitCode: 75 }])
    // The agent need not keep the home for it any more.
    await eventually(() => {
      const asked = agent.requests('destroy_kernel').filter(({ kernelId }) => kernelId === kernel.id)
      // The manager may say each twice on a busy computer.
      return Promise.resolve([...new Set(asked.map(({ keepFilesMs }) => typeof keepFilesMs))])
    }).toEqual(['number', 'undefined'])
    await cluster.api.deleteSession({ params: { id: second.id } })
    const again = await cluster.api.restartSession({ params: { id: first.id }, body: {} })
    await cluster.reach(again.id, 'RUNNING')
    expect(agent.requests('create_kernel').at(-1)?.spec.filesOf).toBe(kernel.id)
  })

  test('ends for good when its owner ends it meanwhile', async () => {
    const first = await running()
    const stopping = Promise.withResolvers<undefined>()
    const destroy = agent.script.destroy_kernel
    agent.script.destroy_kernel = async (input, signal) => {
      await stopping.promise
      return destroy(input, signal)
    }
    await urgent(first.id)
    await cluster.reach(first.id, 'TERMINATING')
    await cluster.api.deleteSession({ params: { id: first.id } })
    stopping.resolve(undefined)
    const ended = await cluster.reach(first.id, 'TERMINATED')
    expect(ended.reason.code).toBe('user_terminated')
  })
})
