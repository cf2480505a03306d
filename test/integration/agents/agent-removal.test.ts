import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ScriptedAgent, ScriptedError } from '../../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Hosts that leave; their side is scripted. */
let cluster: SessionsCluster
beforeAll(async () => void (cluster = await startSessionsCluster({ updatesEveryMs: 50, agentLostMs: 500 })))
afterEach(() => cluster.reset())
afterAll(() => cluster[Symbol.asyncDispose]())

const seen = ({ id }: ScriptedAgent) => cluster.api.getAgent({ params: { id } })
const remove = ({ id }: ScriptedAgent, body = {}) => cluster.api.removeAgent({ params: { id }, body })
const left = async (agent: ScriptedAgent) => {
  const { status, removal } = await seen(agent)
  return `${status} ${removal?.step ?? ''}`
}

test('a host leaves once its sessions have ended; what stays on it is listed, and it is forgotten', async () => {
  const agent = await cluster.join({
    script: { leave_host: () => ({ removes: true, homes: ['/scratch'], storage: ['/var/lib/berth/storage'] }) },
  })
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  expect(await remove(agent)).toMatchObject({
    schedulable: false,
    removal: { step: 'draining', sessions: 'wait', images: false, by: 'admin@localhost' },
  })
  const paused = cluster.api.updateAgent({ params: { id: agent.id }, body: { schedulable: true } })
  expect((await refusal(paused)).code).toBe('agent_leaving')
  expect(agent.requests('leave_host')).toEqual([])

  await cluster.api.deleteSession({ params: { id } })
  await expect.poll(() => left(agent)).toBe('REVOKED removed')
  expect(agent.requests('leave_host')).toEqual([{ images: false }])
  const { removal } = await seen(agent)
  expect(removal?.stays.map(({ by }) => by.cause)).toEqual([
    'stays_folders',
    'stays_homes',
    'stays_images',
    'stays_system',
  ])
  expect((await cluster.api.listAgents()).items).toEqual([])
})

test('sessions are ended where the administrator says so', async () => {
  const agent = await cluster.join()
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  await remove(agent, { sessions: 'end', images: true })
  expect((await cluster.reach(id, 'TERMINATED')).reason.code).toBe('agent_forgotten')
  await expect.poll(() => left(agent)).toBe('REVOKED removed')
  expect(agent.requests('leave_host')).toEqual([{ images: true }])
})

test('a removal is called off while sessions are there, and not any more once the host leaves', async () => {
  const asked = Promise.withResolvers<undefined>()
  const agent = await cluster.join({
    script: {
      async leave_host() {
        await asked.promise
        return { removes: false, homes: [], storage: [] }
      },
    },
  })
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  await remove(agent)
  const kept = await cluster.api.cancelAgentRemoval({ params: { id: agent.id } })
  expect(kept).toMatchObject({ removal: null, schedulable: false, status: 'CONNECTED' })

  await remove(agent, { sessions: 'end' })
  await expect.poll(async () => (await seen(agent)).removal?.step).toBe('leaving')
  expect((await refusal(cluster.api.cancelAgentRemoval({ params: { id: agent.id } }))).code).toBe('agent_leaving')
  asked.resolve(undefined)
  await expect.poll(() => left(agent)).toBe('REVOKED removed')
  expect((await seen(agent)).removal?.stays[0]?.by.cause).toBe('stays_program')
})

test('a host that refuses to leave says why, and is asked again until it can, or its removal is called off', async () => {
  const refuses = () => {
    throw new ScriptedError('bad_request', 'Unknown.', { why: 'Unknown.' })
  }
  const agent = await cluster.join({ script: { leave_host: refuses } })
  await remove(agent)
  const refused = { step: 'draining', problem: 'Unknown.' }
  await expect.poll(async () => (await seen(agent)).removal).toMatchObject(refused)
  const kept = await cluster.api.cancelAgentRemoval({ params: { id: agent.id } })
  expect(kept).toMatchObject({ removal: null, status: 'CONNECTED' })

  await remove(agent)
  await expect.poll(async () => (await seen(agent)).removal).toMatchObject(refused)
  agent.script.leave_host = () => ({ removes: true, homes: [], storage: [] })
  await expect.poll(() => left(agent)).toBe('REVOKED removed')
})

test('a host that is not connected is removed as it is only on request, and what stays on it is said', async () => {
  const agent = await cluster.join()
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  await agent.disconnect()
  await expect.poll(async () => (await seen(agent)).status).toBe('LOST')
  const refused = await refusal(remove(agent))
  expect([refused.code, refused.detail.cause]).toEqual(['agent_unreachable', 'remove_away'])
  const { status, removal } = await remove(agent, { away: true })
  expect([status, removal?.stays[0]?.by.cause]).toEqual(['REVOKED', 'stays_away'])
  expect((await cluster.reach(id, 'TERMINATED')).reason.code).toBe('agent_forgotten')
})

test('another manager start goes on with a removal', async () => {
  const agent = await cluster.join()
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  await remove(agent)
  await cluster.restart()
  await agent.connect()
  await cluster.api.deleteSession({ params: { id } })
  await expect.poll(() => left(agent)).toBe('REVOKED removed')
})
