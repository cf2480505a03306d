import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient, type SessionId } from '#manager/contract'
import { type Berth, startBerth } from '../fixtures/berth.ts'
import { type Engine, startEngine } from '../fixtures/docker-engine.ts'
import { TINY_IMAGE, TOOLBOX_IMAGE } from '../fixtures/images.ts'

/** An agent whose engine is in another network namespace, as with rootless Docker: its containers cannot be reached by connections. */
const stack = new AsyncDisposableStack()
let engine: Engine
let berth: Berth
let api: ApiClient
let id: SessionId

beforeAll(async () => {
  engine = stack.use(await startEngine())
  await Promise.all([TOOLBOX_IMAGE, TINY_IMAGE].map(image => engine.load(image)))
  berth = stack.use(await startBerth({ environment: { DOCKER_HOST: engine.host } }))
  api = await berth.api()
})
afterAll(() => stack.disposeAsync())

const agent = async () => (await api.listAgents()).items[0]

test('an agent in another network namespace reports that it cannot isolate sessions, and why', async () => {
  await expect.poll(async () => (await agent())?.networkIsolationReason).toContain('another network namespace')
  expect((await agent())?.networkIsolation).toBe('partial')
  expect((await agent())?.problem ?? null).toBeNull()
})

test('sessions of that agent run, and SSH reaches them', async () => {
  const resources = { cpu: '0.1', mem: '64m' }
  await expect.poll(async () => (await api.listImages()).items.map(image => image.reference)).toContain(TINY_IMAGE)
  const { items } = await api.createSession({ body: { image: TINY_IMAGE, resources } })
  id = items[0]?.id as SessionId
  const status = async () => (await api.getSession({ params: { id } })).status
  await expect.poll(status).toBe('RUNNING')
  const { code, stdout } = await berth.cli('ssh', id, 'echo "six $((2*3))"')
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'six 6\n' })
})
