import { once } from 'node:events'
import { createServer } from 'node:http'
import { type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { CONTROL_PROTOCOL, DATA_PATH } from '#agent/contract'
import { type SessionId, TERMINAL_PROTOCOL } from '#manager/contract'
import { type Manager } from '../../../manager/manager.ts'
import { ADMIN, apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { openEventStream } from '../../fixtures/event-stream.ts'
import { type ManagerProcess, type Managers, startManagers } from '../../fixtures/managers.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

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

test('a session that is requested at one manager is visible at the other, including its event streams', async () => {
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

test('a member loses a shared session at one manager, and with it the terminal at the other', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { path: home } = stack.use(await temporaryDirectory())
  const { api } = await managers.admin(a)
  const { join } = await a.createJoinToken()
  const serve = (_: unknown, socket: Socket) => void socket.on('error', () => undefined).resume()
  const agent = stack.use(await startMeshAgent({ home, engine: scriptedEngine(), join, serve }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const password = 'Their-own-pass-1'
  const { id: userId } = await api.createUser({
    body: { mustChangePassword: false, email: 'member@example.org', name: 'M', password },
  })
  const { items } = await api.createSession({ body: { image: 'berth/python:3.13' } })
  const id = items[0]?.id as SessionId
  await expect.poll(async () => (await api.getSession({ params: { id } })).status).toBe('RUNNING')
  await api.shareSession({ params: { id }, body: { email: 'member@example.org', permission: 'use' } })
  const { token } = await apiOf(b.url).login({ body: { email: 'member@example.org', password, kind: 'token' } })
  const open = async () => {
    const address = `${b.url.replace('http', 'ws')}/api/v1/sessions/${id}/terminal?name=t1&cols=80&rows=24`
    const socket = new WebSocket(address, [TERMINAL_PROTOCOL], { headers: { authorization: `Bearer ${token ?? ''}` } })
    await once(socket, 'open')
    return socket
  }
  const shell = await open()
  await api.unshareSession({ params: { id, userId } })
  await expect.poll(() => shell.readyState).toBe(WebSocket.CLOSED)
  await expect(open()).rejects.toThrow('404')
})

test('a sign-in that ends at one manager loses its streams and its token at the other at once', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { api, token } = await managers.admin(a)
  const stream = stack.use(await openEventStream(b.url, { token }))
  expect((await apiOf(b.url, token).me()).user.email).toBe(ADMIN.email)
  await api.logout()
  await expect.poll(() => stream.isEnded()).toBe(true)
  await expect(apiOf(b.url, token).me()).rejects.toMatchObject({ code: 'not_signed_in' })
})

test('a user who is demoted or deactivated at one manager loses the streams at the other, also those of a keypair', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { api } = await managers.admin(a)
  const password = 'Their-own-pass-1'
  const who = { email: 'streams@example.org', name: 'S', password, role: 'superadmin' } as const
  const { id } = await api.createUser({ body: { ...who, mustChangePassword: false } })
  const { token } = await apiOf(a.url).login({ body: { email: who.email, password, kind: 'token' } })
  const keypair = await apiOf(a.url, token ?? '').createKeypair({ body: {} })
  const demoted = stack.use(await openEventStream(b.url, keypair))
  expect(demoted.status).toBe(200)
  await api.updateUser({ params: { id }, body: { role: 'user' } })
  await expect.poll(() => demoted.isEnded()).toBe(true)
  const deactivated = stack.use(await openEventStream(b.url, keypair))
  expect(deactivated.status).toBe(200)
  await api.updateUser({ params: { id }, body: { active: false } })
  await expect.poll(() => deactivated.isEnded()).toBe(true)
})

test('both managers report queue positions, and the leader starts a waiting session when there is room', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { path: home } = stack.use(await temporaryDirectory())
  const [here, there] = [(await managers.admin(a)).api, (await managers.admin(b)).api]
  const { join } = await b.createJoinToken()
  const engine = scriptedEngine({ capacity: { cpu: 1000, mem: 2 ** 30 } })
  const agent = stack.use(await startMeshAgent({ home, engine, join }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const launch = async (name: string, api = here) => {
    const resources = { cpu: '1', mem: '1g' }
    const { items } = await api.createSession({ body: { image: 'berth/python:3.13', name, resources } })
    return items[0]?.id as SessionId
  }
  const statusOf = async (id: SessionId) => (await here.getSession({ params: { id } })).status
  const first = await launch('first-one')
  await expect.poll(() => statusOf(first)).toBe('RUNNING')
  const waiting = [await launch('second-one', there), await launch('third-one')]
  for (const api of [here, there]) {
    const positions = async () =>
      Promise.all(waiting.map(async id => (await api.getSession({ params: { id } })).queuePosition))
    await expect.poll(positions).toEqual([1, 2])
  }
  await there.deleteSession({ params: { id: first } })
  await expect.poll(() => statusOf(waiting[0] as SessionId)).toBe('RUNNING')
  for (const id of waiting) await here.deleteSession({ params: { id } })
})

test('an agent that is revoked at one manager is disconnected by all, and stops', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { path: home } = stack.use(await temporaryDirectory())
  const { api } = await managers.admin(b)
  const { join } = await a.createJoinToken()
  const agent = stack.use(await startMeshAgent({ home, engine: scriptedEngine(), join }))
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const ended = expect(agent.ended).rejects.toMatchObject({ code: 'agent_revoked' })
  await api.forgetAgent({ params: { id: agent.engine.id } })
  await expect.poll(() => agent.connectedTo.size).toBe(0)
  await ended
})

test('an agent that starts while the manager it joined is down finds the others, and is LOST only when no manager has it', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { path: home } = stack.use(await temporaryDirectory())
  const { join } = await a.createJoinToken()
  const engine = scriptedEngine()
  const { api } = await managers.admin(b)
  const statusOf = async () => (await api.listAgents()).items.find(({ id }) => id === engine.id)?.status
  {
    await using agent = await startMeshAgent({ home, engine, join })
    await expect.poll(() => agent.connectedTo.size).toBe(2)
    await a[Symbol.asyncDispose]()
    await expect.poll(() => [...agent.connectedTo]).toEqual([b.url])
    expect(await statusOf()).toBe('CONNECTED')
  }
  await using again = await startMeshAgent({ home, engine })
  await expect.poll(() => [...again.connectedTo]).toEqual([b.url])
  await expect.poll(statusOf).toBe('CONNECTED')
  const c = stack.use(await managers.start())
  await expect.poll(() => [...again.connectedTo].toSorted()).toEqual([b.url, c.url].toSorted())
})

test('an agent without a connection to any manager is reported LOST once', async () => {
  await using stack = new AsyncDisposableStack()
  const { a, b } = stack.use(await two())
  const { path: home } = stack.use(await temporaryDirectory())
  const engine = scriptedEngine()
  const apis = [(await managers.admin(a)).api, (await managers.admin(b)).api]
  const statuses = () =>
    Promise.all(apis.map(async api => (await api.listAgents()).items.find(({ id }) => id === engine.id)?.status))
  {
    await using agent = await startMeshAgent({ home, engine, join: (await a.createJoinToken()).join })
    await expect.poll(() => agent.connectedTo.size).toBe(2)
    await expect.poll(statuses).toEqual(['CONNECTED', 'CONNECTED'])
  }
  await expect.poll(statuses).toEqual(['LOST', 'LOST'])
})

test('a hanging manager loses leadership and its place in the list, and regains both when it continues', async () => {
  await using stack = new AsyncDisposableStack()
  const a = stack.use(await managers.spawn())
  const b = stack.use(await managers.spawn())
  const { path: home } = stack.use(await temporaryDirectory())
  const agent = stack.use(
    await startMeshAgent({ home, engine: scriptedEngine(), join: (await a.createJoinToken()).join }),
  )
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  const create = async (manager: ManagerProcess) => {
    const { api } = await managers.admin(manager)
    const { items } = await api.createSession({ body: { image: 'berth/python:3.13' } })
    const id = items[0]?.id as SessionId
    return async () => (await api.getSession({ params: { id } })).status
  }
  // The first one has the turn.
  await expect.poll(await create(a)).toBe('RUNNING')
  await a.kill('SIGSTOP')
  await expect.poll(await create(b)).toBe('RUNNING')
  await expect.poll(() => [...agent.connectedTo]).toEqual([b.url])
  await a.kill('SIGCONT')
  await expect.poll(() => agent.connectedTo.size).toBe(2)
  await expect.poll(await create(a)).toBe('RUNNING')
})

test('a program on the port of a stopped manager gets nothing from its agent', async () => {
  await using stack = new AsyncDisposableStack()
  const a = stack.use(await managers.start())
  const { path: home } = stack.use(await temporaryDirectory())
  const { join } = await a.createJoinToken()
  const agent = stack.use(await startMeshAgent({ home, engine: scriptedEngine(), join }))
  const managerId = a.managerId
  await a[Symbol.asyncDispose]()
  await using squatter = await startSquatter(Number(new URL(a.url).port), managerId)
  await expect.poll(() => squatter.calls).toBeGreaterThan(3)
  expect(squatter.heard).toEqual([])
  await expect.poll(() => squatter.refused).toBeGreaterThan(2)
  expect(squatter.credentials.filter(text => text.startsWith('Bearer'))).toEqual([])
  expect(agent.connectedTo.size).toBe(0)
})

/** Answers like a manager without its key. */
async function startSquatter(port: number, managerId: string) {
  const heard: string[] = []
  const credentials: string[] = []
  let calls = 0
  let refused = 0
  const server = createServer()
  const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => CONTROL_PROTOCOL })
  const open = new Set<Socket>()
  server.on('connection', socket => open.add(socket))
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => undefined)
    if (request.headers.authorization) credentials.push(request.headers.authorization)
    if (request.url === DATA_PATH) {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: berth-data\r\n\r\n')
      socket.write(
        '{"kind":"terminal","kernelId":"01a1f9b1-f8e7-7bc7-b749-5b341ce7b318","name":"x","cols":80,"rows":24}\n',
      )
      return
    }
    sockets.handleUpgrade(request, socket, head, peer => {
      calls++
      peer.on('message', (data: Buffer) => heard.push(data.toString()))
      // Three managers in turn: one with the same name, one with another name, and one that redirects agents.
      const stranger = '01a1f9b1-f8e7-7bc7-b749-5b341ce7b319'
      const challenge = {
        type: 'challenge',
        nonce: 'n',
        managerId: calls % 3 === 1 ? managerId : stranger,
        processId: 'p',
      }
      if (calls % 3 === 0) refused++
      peer.send(JSON.stringify(calls % 3 === 0 ? { type: 'refused', code: 'agent_revoked', message: '' } : challenge))
    })
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return {
    heard,
    credentials,
    get refused() {
      return refused
    },
    get calls() {
      return calls
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
