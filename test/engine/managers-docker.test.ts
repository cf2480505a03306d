import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type Session, type SessionId } from '#manager/contract'
import { startProxy } from '#proxy'
import { type AgentHome, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { docker, tinyImage, TINY_IMAGE } from '../fixtures/docker.ts'
import { removeEverythingOf } from '../fixtures/leftovers.ts'
import { temporaryDirectory } from '../fixtures/manager.ts'
import { type ManagerProcess, type Managers, startManagers } from '../fixtures/managers.ts'

/** Three manager processes, killed one after the other, with a real agent on the machine's engine. */
let managers: Managers
let home: AgentHome
let managerId: string | undefined
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  await tinyImage()
  managers = stack.use(await startManagers())
  home = stack.use(await createAgentHome())
})
afterAll(async () => {
  // Stop the agent first: it also cleans up.
  await stack.disposeAsync()
  await removeEverythingOf(managerId)
})

const resources = { cpu: '0.1', mem: '64m' }
const create = async (api: ApiClient, name: string) => {
  const { items } = await api.createSession({ body: { image: TINY_IMAGE, name, resources } })
  return items[0] as Session
}
const runs = (api: ApiClient, id: SessionId, withinMs = 30_000) =>
  expect
    .poll(async () => (await api.getSession({ params: { id } })).status, { timeout: withinMs, interval: 50 })
    .toBe('RUNNING')
const kernelsOnEngine = async () =>
  (await docker.listContainers({ all: true, filters: { label: [`berth.manager=${managerId ?? ''}`] } }))
    .map(({ Labels }) => Labels['berth.kernel-id'] ?? '')
    .toSorted()
const kernelsOf = async (api: ApiClient) =>
  (await api.listSessions({ query: { status: 'live', limit: 100 } })).items
    .flatMap(session => session.kernels.map(kernel => kernel.id as string))
    .toSorted()

/** The greeting of an SSH server, through a tunnel of the local proxy and this manager. */
async function bannerThrough(manager: ManagerProcess, session: Session): Promise<string> {
  await using directory = await temporaryDirectory()
  const { token } = await managers.admin(manager)
  await using proxy = await startProxy({
    managerUrl: manager.url,
    credentials: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    dataDir: join(directory.path, 'proxy'),
    userId: session.ownerId,
    sshDirectory: join(directory.path, 'ssh'),
  })
  const { port } = await proxy.tunnel.open({ sessionId: session.id, app: 'sshd' })
  const socket = connect(port, '127.0.0.1')
  const [data] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return data.toString().trim()
}

test('while managers are killed one after the other, sessions continue, tunnels work through any, and each start happens once', async () => {
  const a = await managers.spawn()
  const b = await managers.spawn()
  const agent = stack.use(
    await spawnAgent(home, {
      BERTH_JOIN: (await a.createJoinToken()).join,
      BERTH_AGENT_NETWORK_RANGE: '10.219.0.0/16',
    }),
  )
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
  const { api: atA } = await managers.admin(a)
  const { api: atB } = await managers.admin(b)
  const steady = await create(atA, 'steady-one')
  await runs(atB, steady.id)
  const [container] = await docker.listContainers({
    filters: { label: [`berth.kernel-id=${steady.kernels[0]?.id ?? ''}`] },
  })
  managerId = container?.Labels['berth.manager']
  expect(await bannerThrough(a, steady)).toMatch(/^SSH-2\.0/)
  expect(await bannerThrough(b, steady)).toMatch(/^SSH-2\.0/)

  const starting = await create(atA, 'starting-one')
  await a.kill('SIGKILL')
  const next = await create(atB, 'next-one')
  // The turn to schedule moves as soon as the database has noticed.
  await runs(atB, next.id, 10_000)
  await runs(atB, starting.id)
  expect(await kernelsOnEngine()).toEqual(await kernelsOf(atB))
  expect(await bannerThrough(b, next)).toMatch(/^SSH-2\.0/)

  const c = await managers.spawn()
  const { api: atC } = await managers.admin(c)
  await expect.poll(async () => (await atC.getSession({ params: { id: steady.id } })).reachable).toBe(true)
  const last = await create(atB, 'last-one')
  await b.kill('SIGKILL')
  await runs(atC, last.id)
  expect((await atC.getSession({ params: { id: steady.id } })).kernels[0]?.containerId).toBe(container?.Id)
  expect(await bannerThrough(c, steady)).toMatch(/^SSH-2\.0/)
  expect(await kernelsOnEngine()).toEqual(await kernelsOf(atC))
  expect((await atC.listAgents()).items.map(({ status }) => status)).toEqual(['CONNECTED'])

  for (const { id } of [steady, starting, next, last]) await atC.deleteSession({ params: { id } })
  await expect.poll(kernelsOnEngine).toEqual([])
})
