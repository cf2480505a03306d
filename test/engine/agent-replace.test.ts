import { cp, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AgentId } from '#manager/contract'
import { newId } from '../../manager/store/new-id.ts'
import { type AgentHome, type AgentProcess, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { docker, TINY_IMAGE, tinyImage } from '../fixtures/docker.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'
import { ScriptedAgent } from '../fixtures/scripted-agent.ts'
import { refusal, type SessionsCluster, startSessionsCluster } from '../fixtures/sessions-cluster.ts'
import { removeData } from '../fixtures/unmount-below.ts'

const stack = new AsyncDisposableStack()
let cluster: SessionsCluster

beforeAll(async () => {
  await tinyImage()
  cluster = stack.use(await startSessionsCluster({ slowTickMs: 500 }))
})
afterAll(async () => {
  const { managerId } = cluster.manager
  await stack.disposeAsync()
  await removeEverythingOf(managerId)
})

const joinString = async (replaces?: AgentId) => (await cluster.api.createJoinToken({ body: { replaces } })).join

/** A data directory that uses the engine of another data directory. */
async function besides(home: AgentHome): Promise<AgentHome> {
  const data = await mkdtemp(join(tmpdir(), 'berth-test-'))
  stack.defer(() => removeData(data))
  return { ...home, data }
}

async function start(home: AgentHome, environment: Record<string, string>): Promise<AgentProcess> {
  return stack.use(await spawnAgent(home, environment))
}

test('an agent that lost its data directory is replaced: id, sessions and containers stay, its key is worthless', async () => {
  const { api } = cluster
  const lost = stack.use(await createAgentHome())
  const first = await start(lost, { BERTH_JOIN: await joinString() })
  const agentId = AgentId.parse((await first.firstLine).agentId)
  await expect.poll(async () => Number((await api.getResources({})).largest.cpu)).not.toBe(0)
  const launch = () => cluster.launch({ image: TINY_IMAGE, resources: { cpu: '0.1', mem: '64m' } })
  const running = await Promise.all([launch(), launch()].map(async made => cluster.reach((await made).id, 'RUNNING')))
  const containers = running.map(({ kernels }) => kernels[0]?.containerId ?? '')
  const [one, two] = running
  if (!one || !two) throw new Error('two sessions')

  first.kill('SIGKILL')
  await first.exited
  const thief = await besides(lost)
  const filter = (path: string) => !path.endsWith('.sock') // without the lock of the killed agent
  await cp(join(lost.data, 'agent'), join(thief.data, 'agent'), { recursive: true, filter })
  await removeData(join(lost.data, 'agent'))
  // An image names a session of this manager and agent: that is no signature, and no manager confirms it.
  const forged = { ...(await docker.getContainer(containers[0] ?? '').inspect()).Config.Labels }
  const kernelId = newId(AgentId)
  forged['berth.kernel'] = (forged['berth.kernel'] ?? '').replaceAll(forged['berth.kernel-id'] ?? '', kernelId)
  const stranger = await docker.createContainer({
    Image: TINY_IMAGE,
    Labels: { ...forged, 'berth.kernel-id': kernelId },
  })
  await stranger.start()

  const fresh = await besides(lost)
  const withoutWord = await start(fresh, { BERTH_JOIN: await joinString() })
  expect(await withoutWord.firstLine).toMatchObject({ error: { code: 'engine_already_managed' } })
  const withoutString = await start(fresh, { BERTH_JOIN: await joinString(), BERTH_AGENT_REPLACE: '1' })
  expect(await withoutString.firstLine).toMatchObject({ error: { code: 'config_invalid' } })
  const invitation = await joinString(agentId)
  const withoutFlag = await start(fresh, { BERTH_JOIN: invitation })
  expect(await withoutFlag.firstLine).toMatchObject({ error: { code: 'config_invalid' } })

  const second = await start(fresh, { BERTH_JOIN: invitation, BERTH_AGENT_REPLACE: '1' })
  expect(await second.firstLine).toEqual({ ready: 'agent', agentId })
  const isWhole = async () => {
    for (const [index, { id }] of running.entries()) {
      const { status, reachable, kernels } = await api.getSession({ params: { id } })
      expect([status, reachable, kernels[0]?.containerId]).toEqual(['RUNNING', true, containers[index]])
    }
  }
  await expect.poll(isWhole).toBeUndefined()
  for (const id of containers) expect((await docker.getContainer(id).inspect()).State.Running).toBe(true)
  expect(await api.recalculateUsage()).toMatchObject({ findings: [], agents: [{ agentId, containers: 2 }] })
  const third = await launch()
  await cluster.reach(third.id, 'RUNNING')

  // As after a crash of a service that still has the flag: the agent named by the manager is remembered.
  second.kill('SIGKILL')
  await second.exited
  const again = await start(fresh, { BERTH_JOIN: invitation, BERTH_AGENT_REPLACE: '1' })
  expect(await again.firstLine).toEqual({ ready: 'agent', agentId })
  await expect.poll(isWhole).toBeUndefined()
  expect(await api.recalculateUsage()).toMatchObject({ findings: [], agents: [{ agentId, containers: 3 }] })
  await api.deleteSession({ params: { id: one.id } })
  await cluster.reach(one.id, 'TERMINATED')
  await expect(docker.getContainer(containers[0] ?? '').inspect()).rejects.toThrow('no such container')

  const withOldKey = await start(thief, {})
  expect(await withOldKey.firstLine).toMatchObject({ error: { code: 'agent_revoked' } })
  const usedTwice = await start(await besides(lost), { BERTH_JOIN: invitation, BERTH_AGENT_REPLACE: '1' })
  expect(await usedTwice.firstLine).toMatchObject({ error: { code: 'join_token_invalid' } })
  expect((await api.getSession({ params: { id: two.id } })).reachable).toBe(true)
  expect((await stranger.inspect()).State.Running).toBe(true)
  await stranger.remove({ force: true })
  const { items } = await api.listAuditLog({ query: { action: 'agentJoin' } })
  expect(items.filter(({ result, detail }) => result === 'ok' && detail.replaces === true)).toHaveLength(1)
})

describe('a join string to replace an agent', () => {
  const as = (id: AgentId, invitation: string) =>
    Object.defineProperty(new ScriptedAgent({ url: cluster.url, join: invitation }), 'id', { value: id })

  test('superadmins create it, for an existing agent', async () => {
    const user = await cluster.addUser('curious@example.org')
    const { id } = await cluster.join()
    expect((await refusal(user.createJoinToken({ body: { replaces: id } }))).code).toBe('forbidden')
    const unknown = newId(AgentId)
    expect((await refusal(cluster.api.createJoinToken({ body: { replaces: unknown } }))).code).toBe('agent_not_found')
    await cluster.api.forgetAgent({ params: { id } })
    expect((await refusal(cluster.api.createJoinToken({ body: { replaces: id } }))).code).toBe('agent_not_found')
  })

  test('it works for that agent only, and disconnects the former one', async () => {
    const [old, other] = [await cluster.join(), await cluster.join()]
    const invitation = await joinString(old.id)
    for (const id of [newId(AgentId), other.id]) {
      await using impostor = await as(id, invitation).connect()
      expect(impostor.refusal?.code).toBe('join_token_invalid')
    }
    await using replacement = await as(old.id, invitation).connect()
    expect(replacement.refusal).toBeUndefined()
    await old.connect()
    expect(old.refusal?.code).toBe('agent_revoked')
  })
})
