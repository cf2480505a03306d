import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SessionId } from '#manager/contract'
import { type Manager } from '../../manager/main.ts'
import { apiOf, temporaryDirectory } from '../fixtures/manager.ts'
import { openEventStream } from '../fixtures/event-stream.ts'
import { type Managers, startManagers } from '../fixtures/managers.ts'
import { scriptedEngine, startMeshAgent } from '../fixtures/mesh-agent.ts'

let managers: Managers
beforeAll(async () => {
  managers = await startManagers()
})
afterAll(() => (managers as Managers | undefined)?.[Symbol.asyncDispose]())

async function two(): Promise<{ a: Manager; b: Manager } & AsyncDisposable> {
  const a = await managers.start()
  const b = await managers.start()
  return {
    a,
    b,
    async [Symbol.asyncDispose]() {
      await a[Symbol.asyncDispose]()
      await b[Symbol.asyncDispose]()
    },
  }
}

test('a session asked for at one manager is seen at the other, on its streams too', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { path: home } = stack.use(await temporaryDirectory())
  const [admin, other] = [await managers.admin(a), await managers.admin(b)]
  const { join } = await a.createJoinToken()
  const agent = stack.use(await startMeshAgent({ home, engine: scriptedEngine(), join }))
  await expect.poll(() => [...agent.connectedTo].toSorted()).toEqual([a.url, b.url].toSorted())
  expect([...agent.proven].toSorted()).toEqual([a.url, b.url].toSorted())

  const stream = stack.use(await openEventStream(b.url, { token: other.token }))
  await expect.poll(async () => (await other.api.listAgents()).items.map(({ status }) => status)).toEqual(['CONNECTED'])
  const { items } = await admin.api.createSession({ body: { image: 'berth/python:3.13' } })
  const id = items[0]?.id as SessionId
  await expect.poll(async () => (await other.api.getSession({ params: { id } })).status).toBe('RUNNING')
  await expect
    .poll(() => stream.of('hint').filter(({ data }) => (data as { id: string }).id === id).length)
    .toBeGreaterThanOrEqual(2)
  expect(agent.engine.requests('create_kernel')).toHaveLength(1)

  await apiOf(b.url, other.token).deleteSession({ params: { id } })
  await expect.poll(async () => (await admin.api.getSession({ params: { id } })).status).toBe('TERMINATED')
})
