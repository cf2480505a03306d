import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster

beforeAll(async () => {
  cluster = await startSessionsCluster({ agentLostMs: 3_600_000 })
})
afterAll(() => cluster[Symbol.asyncDispose]())

const EXITED = { state: 'exited', containerId: 'c', exitCode: 0, oomKilled: false, engineRestarted: false } as const

/** An agent that reports only events; `end` decides when a container ends. */
const quiet = (end: (agent: ScriptedAgent, kernelId: Parameters<ScriptedAgent['change']>[0]) => void) =>
  cluster.join({ heartbeatMs: 3_600_000 }).then(agent => {
    agent.script.create_kernel = ({ spec }) => {
      const reply = agent.run(spec)
      end(agent, spec.kernelId)
      return reply
    }
    return agent
  })

test('the end of a job is known before the next heartbeat, however soon after its start', async () => {
  const ends: Parameters<typeof quiet>[0][] = [
    // Before the reply is sent, right after it, and a moment later.
    (agent, kernelId) => agent.change(kernelId, EXITED),
    (agent, kernelId) => setImmediate(() => agent.change(kernelId, EXITED)),
    (agent, kernelId) => setTimeout(() => agent.change(kernelId, EXITED), 5),
  ]
  for (const end of ends) {
    const agent = await quiet(end)
    const jobs = await Promise.all(
      Array.from({ length: 12 }, () =>
        cluster.launch({ kind: 'batch', startupCommand: 'true', resources: { cpu: '0.1', mem: '64m' } }),
      ),
    )
    for (const { id } of jobs) expect((await cluster.reach(id, 'TERMINATED')).result).toBe('success')
    await cluster.reset()
    await agent[Symbol.asyncDispose]()
  }
})

test('the session runs with the reply of its start; where the reply is missing, with the next report', async () => {
  const reply = Promise.withResolvers<undefined>()
  await using agent = await cluster.join({ heartbeatMs: 3_600_000 })
  agent.script.create_kernel = async ({ spec }) => {
    const created = agent.run(spec)
    // The notice that the container runs comes first, as from a real agent.
    agent.change(spec.kernelId, { state: 'running', ...created })
    await reply.promise
    return created
  }
  const first = await cluster.launch()
  await expect.poll(() => agent.requests('create_kernel').length).toBe(1)
  await agent.heard()
  agent.report()
  expect((await cluster.reach(first.id, 'RUNNING')).reason.code).toBe('started')
  const second = await cluster.launch()
  await expect.poll(() => agent.requests('create_kernel').length).toBe(2)
  reply.resolve(undefined)
  expect((await cluster.reach(second.id, 'RUNNING')).reason.code).toBe('started')
  await cluster.reset()
})

test('failed sessions are listed by the server: errors, and batch jobs whose command failed', async () => {
  await using agent = await cluster.join()
  agent.script.create_kernel = ({ spec }) => {
    if (spec.sessionName === 'went-wrong') throw new ScriptedError('kernel_create_failed', 'no room on the disk')
    const created = agent.run(spec)
    const exitCode = spec.sessionName === 'job-fails' ? 3 : 0
    if (spec.sessionName !== 'goes-on') setTimeout(() => agent.change(spec.kernelId, { ...EXITED, exitCode }), 5)
    return Promise.resolve(created)
  }
  const job = { kind: 'batch', startupCommand: 'true' } as const
  const fails = await cluster.launch({ name: 'job-fails', ...job })
  const works = await cluster.launch({ name: 'job-works', ...job })
  const wrong = await cluster.launch({ name: 'went-wrong' })
  const ended = await cluster.launch({ name: 'goes-on' })
  await cluster.reach(ended.id, 'RUNNING')
  await cluster.api.deleteSession({ params: { id: ended.id } })
  for (const { id } of [fails, works, ended]) await cluster.reach(id, 'TERMINATED')
  await cluster.reach(wrong.id, 'ERROR')
  const failed = await cluster.api.listSessions({ query: { status: 'failed', limit: 1 } })
  expect([failed.items.map(({ name }) => name), failed.total]).toEqual([['went-wrong'], 2])
  const next = await cluster.api.listSessions({
    query: { status: 'failed', limit: 1, cursor: failed.nextCursor ?? undefined },
  })
  expect(next.items.map(({ name, result }) => [name, result])).toEqual([['job-fails', 'failure']])
  expect(next.nextCursor).toBeNull()
  await cluster.reset()
})
