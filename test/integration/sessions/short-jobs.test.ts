import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ScriptedAgent } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

let cluster: SessionsCluster

beforeAll(async () => {
  cluster = await startSessionsCluster({ agentLostMs: 3_600_000 })
})
afterAll(() => cluster[Symbol.asyncDispose]())

const EXITED = { state: 'exited', containerId: 'c', exitCode: 0, oomKilled: false, engineRestarted: false } as const

/** An agent that says nothing but what happens; `end` decides when a container ends. */
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
