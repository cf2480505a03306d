import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type ApiClient, listedIn, type SessionId, type Task } from '#manager/contract'
import { type AgentHome, type AgentProcess, createAgentHome, spawnAgent } from '../fixtures/agent-process.ts'
import { BUSYBOX_IMAGE, busyboxImage, docker, madeContainer, TOOLBOX_IMAGE } from '../fixtures/docker.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { startTestManager, type TestManager } from '../fixtures/manager.ts'
import { startRegistry, type TestRegistry } from '../fixtures/registry.ts'
import { inTerminal } from '../fixtures/terminal.ts'

/**
 * The journey over an engine that keeps its images in containerd's store, as new installations of Docker 29 do: the id of an image is the
 * digest of its manifest there. Docker supports this from version 24 on; with an older dockerd the test is skipped.
 */
const run = promisify(execFile)
const stack = new AsyncDisposableStack()
let engine: Engine
let hasStore = false
let manager: TestManager
let api: ApiClient
let token: string
let cr: TestRegistry
let reference: string
let home: AgentHome
let agent: AgentProcess

beforeAll(async () => {
  engine = stack.use(await startEngine({ features: { 'containerd-snapshotter': true } }))
  hasStore = await engine.hasContainerdStore()
  if (!hasStore) return
  await busyboxImage()
  await Promise.all([TOOLBOX_IMAGE, BUSYBOX_IMAGE].map(image => engine.load(image)))
  manager = stack.use(await startTestManager())
  ;({ api, token } = await manager.signIn())
  cr = stack.use(await startRegistry())
  for (const { port } of [cr, new URL(manager.url)]) stack.use(await engine.window(Number(port)))
  reference = `${cr.name}/lab/box:1`
  await pushImage()
  home = stack.use(await createAgentHome())
  await startAgent({ BERTH_JOIN: (await manager.manager.createJoinToken()).join })
})
afterAll(() => stack.disposeAsync())
beforeEach(({ skip }) => skip(!hasStore, 'this dockerd cannot keep images in the store of containerd'))

/** Removes the images that a dry run lists. */
async function cleanUp() {
  const { items } = await api.cleanUpImages({ body: { dryRun: true } })
  return api.cleanUpImages({ body: { listed: listedIn(items) } })
}

async function startAgent(environment: Readonly<Record<string, string>> = {}): Promise<void> {
  agent = stack.use(await spawnAgent(home, { DOCKER_HOST: engine.host, ...environment }, engine.prefix))
  expect(await agent.firstLine).toMatchObject({ ready: 'agent' })
}

/**
 * The image has one layer that nothing else has: Docker 26 does not list an image of which it has a layer from elsewhere, packed
 * differently.
 */
async function pushImage(): Promise<void> {
  const fill = ['sh', '-c', 'dd if=/dev/urandom of=/big bs=1M count=4']
  await using container = await madeContainer({ Image: BUSYBOX_IMAGE, Cmd: fill })
  await container.start()
  await container.wait()
  const changes = `-c 'CMD ["sh"]' -c 'LABEL berth.image.title=Box'`
  await run('sh', ['-c', `docker export ${container.id} | docker import ${changes} - ${reference}`])
  await run('docker', ['push', '-q', reference])
  await docker.getImage(reference).remove()
}

async function launch(image: string): Promise<SessionId> {
  const { items } = await api.createSession({ body: { image, resources: { cpu: '0.1', mem: '64m' } } })
  const id = items[0]?.id as SessionId
  await expect.poll(() => statusOf(id)).toBe('RUNNING')
  return id
}
const show = (id: SessionId) => api.getSession({ params: { id } })
const statusOf = async (id: SessionId) => (await show(id)).status
async function end(id: SessionId): Promise<void> {
  await api.deleteSession({ params: { id } })
  await expect.poll(() => statusOf(id)).toBe('TERMINATED')
}
async function ended({ id }: Pick<Task, 'id'>): Promise<Task> {
  const get = () => api.getTask({ params: { id } })
  await expect.poll(async () => (await get()).status).not.toBe('running')
  return get()
}
const onAgents = async (name: string) =>
  (await api.listImages()).items.find(image => image.reference === name && image.holders > 0)
const idOn = (image: string) => engine.docker('image', 'inspect', '--format', '{{.Id}}', image)

test('a session of a loaded image has a terminal, figures and scratch, and outlives its agent', async () => {
  await expect.poll(() => onAgents(BUSYBOX_IMAGE)).toBeDefined()
  expect(await onAgents(BUSYBOX_IMAGE)).toMatchObject({ digest: await idOn(BUSYBOX_IMAGE), registry: null })
  expect(await onAgents(TOOLBOX_IMAGE)).toBeUndefined()
  const id = await launch(BUSYBOX_IMAGE)
  const at = { url: manager.url, token }
  await inTerminal(at, id, 'echo kept > /home/work/file; cat /home/work/file; echo "six $((2*3))"', /kept[^]*six 6/)
  await expect.poll(async () => (await show(id)).stats?.memBytes).toBeGreaterThan(0)
  const container = (await show(id)).kernels[0]?.containerId

  agent.kill('SIGKILL')
  await agent.exited
  await startAgent()
  await expect.poll(async () => (await show(id)).reachable).toBe(true)
  expect((await show(id)).kernels[0]).toMatchObject({ containerId: container, status: 'RUNNING' })
  await inTerminal(at, id, 'echo "$(cat /home/work/file) again"', /kept again/)
  expect((await api.removeImage({ body: { reference: BUSYBOX_IMAGE } })).items[0]?.kept).toHaveLength(1)
  await end(id)
})

test('an image of a registry is pulled with progress, for a session too, and removed completely', async () => {
  await api.createRegistry({ body: { name: cr.name, url: cr.url } })
  await ended(await api.rescanRegistry({ params: { name: cr.name } }))
  const pulled = await ended(await api.pullImage({ body: { reference } }))
  expect(pulled).toMatchObject({ status: 'done', pull: [{ status: 'done', error: null }] })
  // The number of bytes is reported only for pulls that take longer than this one.
  const { layersDone, layersTotal } = pulled.pull?.[0]?.progress ?? {}
  expect(layersTotal).toBeGreaterThan(0)
  expect(layersDone).toBe(layersTotal)
  await expect.poll(() => onAgents(reference)).toMatchObject({ pullable: true, outdated: false })
  const clean = (await cleanUp()).items[0]
  expect(clean?.images.map(image => image.references)).toEqual([[reference]])
  expect(clean?.images[0]?.uniqueBytes).toBeGreaterThan(0)
  await expect(idOn(reference)).rejects.toThrow(/No such image/)

  // Pull by digest, as a session does; the image then has two names.
  const id = await launch(reference)
  await expect.poll(() => onAgents(reference)).toMatchObject({ pullable: true, outdated: false })
  const image = await idOn(reference)
  expect((await api.removeImage({ body: { reference } })).items[0]?.kept).toHaveLength(1)
  await end(id)
  expect((await api.removeImage({ body: { reference } })).items[0]?.images).toHaveLength(1)
  await expect(idOn(image)).rejects.toThrow(/No such image/)
  expect(await idOn(TOOLBOX_IMAGE)).toMatch(/^sha256:/)
})
