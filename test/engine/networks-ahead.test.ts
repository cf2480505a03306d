import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type AgentHome,
  type AgentProcess,
  aKernelSpec,
  createAgentHome,
  spawnAgent,
} from '../fixtures/agent-process.ts'
import { busyboxImage, docker, removeByManager } from '../fixtures/docker.ts'
import { type FakeManager, startFakeManager } from '../fixtures/fake-manager.ts'

const AHEAD = 2
let manager: FakeManager
let home: AgentHome
const agents: AgentProcess[] = []

beforeAll(busyboxImage)

beforeEach(async () => {
  manager = await startFakeManager()
  home = await createAgentHome()
})
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent[Symbol.asyncDispose]()
  await manager[Symbol.asyncDispose]()
  await removeByManager(manager.managerId)
  await home[Symbol.asyncDispose]()
})

async function start(environment: Readonly<Record<string, string>> = {}): Promise<AgentProcess> {
  const agent = await spawnAgent(home, {
    BERTH_MANAGER_URL: manager.url,
    BERTH_AGENT_NETWORKS_AHEAD: String(AHEAD),
    ...environment,
  })
  agents.push(agent)
  await agent.firstLine
  return agent
}

/** Ids of the networks of this agent, sorted. */
async function networks(): Promise<string[]> {
  const found = await docker.listNetworks({ filters: { label: [`berth.manager=${manager.managerId}`] } })
  return found.map(({ Id }) => Id).toSorted()
}
async function networkOf(containerId: string): Promise<string | undefined> {
  const { NetworkSettings } = await docker.getContainer(containerId).inspect()
  return Object.values(NetworkSettings.Networks)[0]?.NetworkID
}
const count = (wanted: number) => expect.poll(async () => (await networks()).length).toBe(wanted)
const create = (spec = aKernelSpec()) => manager.request('create_kernel', { spec, startWithinMs: 60_000 })
const destroy = ({ kernelId }: ReturnType<typeof aKernelSpec>) =>
  manager.request('destroy_kernel', { kernelId, graceMs: 0 })

test('a session takes a ready network, which is removed with it; a stopped agent leaves none', async () => {
  const agent = await start({ BERTH_JOIN: manager.join() })
  await count(AHEAD)
  const ready = await networks()
  const first = aKernelSpec()
  const used = await networkOf((await create(first)).containerId)
  expect(ready).toContain(used)
  // Filled up again in addition to the session's network.
  await count(AHEAD + 1)
  await destroy(first)
  expect(await networks()).not.toContain(used)
  const second = aKernelSpec()
  const other = await networkOf((await create(second)).containerId)
  expect(other).not.toBe(used)
  await destroy(second)
  await count(AHEAD)
  await agent[Symbol.asyncDispose]()
  expect(await networks()).toEqual([])
})

test('after an agent is killed its ready networks are removed, and the network of a session stays', async () => {
  const agent = await start({ BERTH_JOIN: manager.join() })
  await count(AHEAD)
  const spec = aKernelSpec()
  const { containerId } = await create(spec)
  const used = await networkOf(containerId)
  await count(AHEAD + 1)
  const before = await networks()
  agent.kill('SIGKILL')
  await agent.exited
  await start()
  // The number is right even before the agent has counted the networks.
  await expect.poll(async () => (await networks()).filter(id => before.includes(id))).toEqual([used])
  await count(AHEAD + 1)
  // The address is found by the network's name, which is in the signed label.
  await manager.request('start_app', { kernelId: spec.kernelId, app: 'sshd', timeoutMs: 20_000 })
  await destroy(spec)
  expect(await networks()).not.toContain(used)
})

test('no network is kept ready if the range is small', async () => {
  await start({ BERTH_JOIN: manager.join(), BERTH_AGENT_NETWORK_RANGE: '10.231.7.0/26' })
  const spec = aKernelSpec()
  await create(spec)
  expect(await networks()).toHaveLength(1)
  await destroy(spec)
  expect(await networks()).toEqual([])
})
