import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Session, type SessionId } from '#manager/contract'
import { type AgentProcess, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { type ManagerProcess, type Managers, startManagers } from '../fixtures/managers.ts'
import { inTerminal } from '../fixtures/terminal.ts'

/** An agent whose network allows connections only to the first of several manager processes. */
const stack = new AsyncDisposableStack()
let managers: Managers
let engine: Engine
let agent: AgentProcess
let a: ManagerProcess
let b: ManagerProcess

const portOf = ({ url }: { readonly url: string }) => Number(new URL(url).port)

beforeAll(async () => {
  await busyboxImage()
  managers = stack.use(await startManagers())
  engine = stack.use(await startEngine())
  await Promise.all([TOOLBOX_IMAGE, BUSYBOX_IMAGE].map(image => engine.load(image)))
  a = await managers.spawn()
  b = await managers.spawn()
  stack.use(await engine.window(portOf(a)))
  const home = stack.use(await createAgentHome())
  const { join } = await a.createJoinToken()
  agent = stack.use(await spawnAgent(home, { BERTH_JOIN: join, DOCKER_HOST: engine.host }, engine.prefix))
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
})
afterAll(() => stack.disposeAsync())

async function launchAt(api: ApiClient): Promise<SessionId> {
  const resources = { cpu: '0.1', mem: '64m' }
  const { items } = await api.createSession({ body: { image: BUSYBOX_IMAGE, resources } })
  const { id } = items[0] as Session
  await expect.poll(async () => (await api.getSession({ params: { id } })).status, { interval: 50 }).toBe('RUNNING')
  return id
}

test('a manager that an agent cannot dial launches and stops sessions, shows figures and logs, and opens terminals', async () => {
  const { api, token } = await managers.admin(b)
  const id = await launchAt(api)
  await inTerminal({ url: b.url, token }, id, 'echo "six $((2*3))"', /six 6/)
  await expect.poll(async () => (await api.getSession({ params: { id } })).stats?.memBytes).toBeGreaterThan(0)
  expect(await api.getSessionLogs({ params: { id }, query: {} })).toMatchObject({ truncated: false })
  await api.deleteSession({ params: { id } })
  await expect.poll(async () => (await api.getSession({ params: { id } })).status).toBe('TERMINATED')
})

test('the lists of managers and agents show which of them cannot be dialled', async () => {
  const { api } = await managers.admin(a)
  const listed = async () =>
    (await api.listManagers()).items.map(({ url, agents, agentsVia }) => ({ url, agents, agentsVia }))
  await expect.poll(listed).toEqual([
    { url: a.url, agents: 1, agentsVia: 0 },
    { url: b.url, agents: 1, agentsVia: 1 },
  ])
  const { warnings } = await api.listManagers()
  expect(warnings.map(({ code }) => code)).toEqual(['manager_not_dialled'])
  expect(warnings[0]?.message).toContain(b.url)
  const readiness = async (): Promise<unknown> => (await fetch(`${a.url}/readyz`)).json()
  await expect.poll(readiness).toEqual({ status: 'ready', warnings: ['manager_not_dialled'] })
  const [one] = (await api.listAgents()).items
  expect(one?.managers?.map(({ url, via }) => ({ url, via }))).toEqual([
    { url: a.url, via: null },
    { url: b.url, via: a.url },
  ])
})

test('a manager that has just started opens a terminal at once, although no agent can dial it', async () => {
  const { api } = await managers.admin(b)
  const id = await launchAt(api)
  const fresh = await managers.spawn()
  const since = performance.now()
  const { token } = await managers.admin(fresh)
  await inTerminal({ url: fresh.url, token }, id, 'echo "six $((2*3))"', /six 6/)
  const tookMs = performance.now() - since
  console.info(`terminal at a manager that the agent cannot dial, after its start: ${Math.round(tookMs)} ms`)
  expect(tookMs).toBeLessThan(8_000)
  await fresh.kill('SIGTERM')
})

test('a manager that is reached through a killed one is reached again once that one is back; sessions continue', async () => {
  const { api, token } = await managers.admin(b)
  const id = await launchAt(api)
  const isReachable = async () => (await api.getSession({ params: { id } })).reachable
  const port = portOf(a)
  await a.kill('SIGKILL')
  await expect.poll(isReachable).toBe(false)
  a = await managers.spawn({ BERTH_PORT: String(port) })
  await expect.poll(isReachable).toBe(true)
  await inTerminal({ url: b.url, token }, id, 'echo "six $((2*3))"', /six 6/)
  expect((await api.getSession({ params: { id } })).status).toBe('RUNNING')
})

test('an agent connects directly to a manager that it can dial again, and its sessions stay reachable', async () => {
  const { api, token } = await managers.admin(b)
  const id = await launchAt(api)
  const viaOfB = async () => (await api.listManagers()).items.find(({ url }) => url === b.url)?.agentsVia
  // After the kill of the manager in between, the agent may pause for 10 s, and then wait as long for an answer.
  await expect.poll(viaOfB).toBe(1)
  stack.use(await engine.window(portOf(b)))
  await expect.poll(viaOfB, { interval: 500 }).toBe(0)
  await inTerminal({ url: b.url, token }, id, 'echo "six $((2*3))"', /six 6/)
  await a.kill('SIGKILL')
  await inTerminal({ url: b.url, token }, id, 'echo "seven $((3+4))"', /seven 7/)
})
