import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { AppError } from '#manager/contract'
import { startProxy, type ProxyOptions } from '#proxy'
import { type Tunnel } from '#proxy/contract'
import { httpApp, StandIn, tcpApp } from '../../fixtures/proxy-stand-in.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function aService(onConnection: (socket: Socket) => void) {
  const server = createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function setUp(onConnection: (socket: Socket) => void, options: Partial<ProxyOptions> = {}) {
  const manager = stack.use(await new StandIn([{ app: tcpApp('echo'), port: await aService(onConnection) }]).start())
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-test-proxy-'))
  stack.defer(() => rm(dataDir, { recursive: true }))
  const proxy = stack.use(
    await startProxy({
      managerUrl: manager.url,
      credentials: manager.credentials,
      dataDir,
      userId: manager.userId,
      sshDirectory: join(dataDir, 'dot ssh'),
      ...options,
    }),
  )
  const spec = { sessionId: manager.session.id, app: 'echo' }
  return { manager, proxy, spec, dataDir }
}

const echo = (socket: Socket) => void socket.pipe(socket)

const closeOf = (socket: Socket) => new Promise(resolve => socket.once('close', resolve))

async function dial(port: number, host = '127.0.0.1') {
  const socket = connect({ port, host, allowHalfOpen: true })
  stack.defer(() => void socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

test.each(['hello', ''])('a client that half-closes after %j still gets the whole answer', async said => {
  const { proxy, spec } = await setUp(socket => {
    void text(socket).then(all => socket.end(`you said ${all}`))
  })
  const { port } = await proxy.tunnel.open(spec)
  const client = await dial(port)
  client.end(said)
  expect(await text(client)).toBe(`you said ${said}`)
})

test('data that is still buffered when the service closes arrives', async () => {
  const payload = Buffer.alloc(8 * 1024 * 1024, 'x')
  const { proxy, spec } = await setUp(socket => socket.end(payload))
  const client = await dial((await proxy.tunnel.open(spec)).port)
  expect((await text(client)).length).toBe(payload.length)
})

test('a stalled reader stops the writer, and no byte is lost', async () => {
  const chunk = Buffer.alloc(256 * 1024, 'y')
  const total = 64 * 1024 * 1024
  let written = 0
  const { proxy, spec } = await setUp(socket => {
    const more = () => {
      while (written < total) {
        written += chunk.length
        if (!socket.write(chunk)) return void socket.once('drain', more)
      }
      socket.end()
    }
    socket.on('error', () => undefined)
    more()
  })
  const client = await dial((await proxy.tunnel.open(spec)).port)
  client.pause()
  let before = -1
  await expect
    .poll(
      () => {
        const still = written > 0 && written === before
        before = written
        return still
      },
      { interval: 300 },
    )
    .toBe(true)
  expect(written).toBeLessThan(total)
  let got = 0
  client.on('data', (data: Buffer) => (got += data.length))
  client.resume()
  await once(client, 'end')
  expect(got).toBe(total)
})

test('two clients at once do not mix, over IPv4 and IPv6', async () => {
  const { proxy, spec } = await setUp(echo)
  const { port } = await proxy.tunnel.open(spec)
  const [one, two] = [await dial(port), await dial(port, '::1')]
  one.end('one')
  two.end('two')
  expect(await Promise.all([text(one), text(two)])).toEqual(['one', 'two'])
  await expect.poll(async () => (await proxy.tunnel.list())[0]?.connections).toBe(0)
  expect((await proxy.tunnel.list())[0]).toMatchObject({ bytesUp: 6, bytesDown: 6 })
})

test('the same spec again returns the same tunnel, also while the first one is opening', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const [a, b] = await Promise.all([proxy.tunnel.open(spec), proxy.tunnel.open(spec)])
  expect(b.id).toBe(a.id)
  expect(manager.seen.filter(({ url }) => url.endsWith('/grant'))).toHaveLength(1)
})

test('a client sees a reset, never text, when the service refuses; the list says why until a connection succeeds', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const { port } = await proxy.tunnel.open(spec)
  const service = manager.apps.get('echo')!
  manager.apps.set('echo', { ...service, port: 1 })
  const client = connect({ port, host: '127.0.0.1' })
  const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNRESET')
  expect(client.bytesRead).toBe(0)
  const lastError = async () => (await proxy.tunnel.list())[0]?.lastError
  await expect.poll(async () => (await lastError())?.message).toContain('does not accept connections')
  expect((await proxy.tunnel.list())[0]?.state).toBe('open')
  manager.apps.set('echo', service)
  await dial(port)
  await expect.poll(lastError).toBeNull()
})

test('a connection that arrives while the manager is down waits, and continues soon after its return', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const changes: Tunnel['state'][] = []
  proxy.on('tunnel:changed', tunnel => changes.push(tunnel.state))
  const { port } = await proxy.tunnel.open(spec)
  await manager.stop()
  const client = await dial(port)
  client.end('patience')
  await expect.poll(() => changes.at(-1)).toBe('reconnecting')
  await manager.start()
  const back = performance.now()
  expect(await text(client)).toBe('patience')
  expect(performance.now() - back).toBeLessThan(4_000)
  expect((await proxy.tunnel.list())[0]?.state).toBe('open')
})

test('an established connection is reset when its path is lost', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const client = await dial((await proxy.tunnel.open(spec)).port)
  client.write('x')
  await once(client, 'data')
  const broken = new Promise<NodeJS.ErrnoException>(resolve => client.once('error', resolve))
  await manager.stop()
  expect((await broken).code).toBe('ECONNRESET')
})

test('a manager that lost its grants in a restart issues another one', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const { port } = await proxy.tunnel.open(spec)
  manager.grants.clear()
  const client = await dial(port)
  client.end('again')
  expect(await text(client)).toBe('again')
  expect(manager.grants.size).toBeGreaterThanOrEqual(1)
})

test('after a sign-out, a connection waits until the user has signed in again', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const { port } = await proxy.tunnel.open(spec)
  manager.grants.clear()
  manager.isSignedIn = false
  const client = await dial(port)
  client.end('here I am')
  await expect.poll(async () => (await proxy.tunnel.list())[0]?.state).toBe('signed_out')
  manager.isSignedIn = true
  proxy.wake()
  expect(await text(client)).toBe('here I am')
})

test('excess waiting connections are reset at once', async () => {
  const { proxy, spec, manager } = await setUp(echo, { limits: { parked: 1, parkMs: 600_000 } })
  const { port } = await proxy.tunnel.open(spec)
  await manager.stop()
  const first = await dial(port)
  await expect.poll(async () => (await proxy.tunnel.list())[0]?.state).toBe('reconnecting')
  const second = connect({ port, host: '127.0.0.1' })
  await once(second, 'error')
  expect(first.destroyed).toBe(false)
})

test('no connection waits beyond its deadline', async () => {
  const { proxy, spec, manager } = await setUp(echo, { limits: { parked: 1, parkMs: 500 } })
  const { port } = await proxy.tunnel.open(spec)
  await manager.stop()
  await closeOf(await dial(port))
})

test('the end of the session closes the listener, and the list says so', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const reasons: string[] = []
  const states: string[] = []
  proxy.on('tunnel:closed', ({ reason }) => reasons.push(reason))
  proxy.on('tunnel:changed', ({ state }) => states.push(state))
  const { port } = await proxy.tunnel.open(spec)
  await expect.poll(() => manager.eventStreams).toBe(1)
  manager.endSession()
  manager.hint()
  await expect.poll(() => reasons).toEqual(['session_ended'])
  expect(states.at(-1)).toBe('ended')
  expect(await proxy.tunnel.list()).toEqual([])
  const late = connect({ port, host: '127.0.0.1' })
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNREFUSED')
})

test('a session that is not running, or lacks the app, is refused and leaves no listener', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  await expect(proxy.tunnel.open({ ...spec, app: 'nothing' })).rejects.toMatchObject({ code: 'app_not_found' })
  manager.endSession()
  await expect(proxy.tunnel.open(spec)).rejects.toMatchObject({ code: 'session_not_running' })
  expect(await proxy.tunnel.list()).toEqual([])
})

test('a preferred port that is taken is an error that names its holder; a random port is used only on request', async () => {
  const { proxy, spec } = await setUp(echo)
  const taken = await aService(echo)
  await expect(proxy.tunnel.open({ ...spec, port: taken })).rejects.toMatchObject({
    code: 'port_in_use',
    detail: { port: taken, holder: { kind: 'berth', pid: process.pid }, offered: expect.any(Number) as number },
  })
  const tunnel = await proxy.tunnel.open({ ...spec, port: taken, onPortTaken: 'random' })
  expect(tunnel.port).not.toBe(taken)
})

test('a port that is taken on ::1 only counts as taken', async () => {
  const { proxy, spec } = await setUp(echo)
  const server = createServer().listen({ port: 0, host: '::1', ipv6Only: true })
  await once(server, 'listening')
  stack.defer(() => void server.close())
  const { port } = server.address() as AddressInfo
  await expect(proxy.tunnel.open({ ...spec, port })).rejects.toMatchObject({ code: 'port_in_use' })
})

test('an open app moves to a requested port, but not while it has connections', async () => {
  const { proxy, spec } = await setUp(echo)
  const { port: first } = await proxy.tunnel.open(spec)
  expect((await proxy.tunnel.open({ ...spec, port: first })).port).toBe(first)
  const server = createServer().listen({ port: 0, host: '127.0.0.1' })
  await once(server, 'listening')
  const { port: second } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  expect((await proxy.tunnel.open({ ...spec, port: second })).port).toBe(second)
  expect((await proxy.tunnel.list()).map(tunnel => tunnel.port)).toEqual([second])

  await dial(second)
  await expect.poll(async () => (await proxy.tunnel.list())[0]?.connections).toBe(1)
  await expect(proxy.tunnel.open({ ...spec, port: first })).rejects.toMatchObject({
    code: 'app_open_elsewhere',
    detail: { port: second, connections: 1 },
  })
  expect((await proxy.tunnel.open({ ...spec, port: first, onPortTaken: 'random' })).port).toBe(second)
})

test('a port that Berth uses itself is reported with its session', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  const other = tcpApp('other')
  manager.apps.set('other', { app: other, port: 9 })
  const { port } = await proxy.tunnel.open(spec)
  await expect(proxy.tunnel.open({ ...spec, app: 'other', port })).rejects.toMatchObject({
    detail: { holder: { kind: 'tunnel', sessionName: 'my-session', app: 'echo' } },
  })
})

test('a user of a process that serves many has a limit of tunnels, and a closed one makes room', async () => {
  const { proxy, spec, manager } = await setUp(echo, { mostTunnels: 1 })
  manager.apps.set('other', { app: tcpApp('other'), port: 9 })
  const { id } = await proxy.tunnel.open(spec)
  await expect(proxy.tunnel.open({ ...spec, app: 'other' })).rejects.toMatchObject({
    code: 'rate_limited',
    detail: { cause: 'tunnels_at_most' },
  })
  expect((await proxy.tunnel.open(spec)).id).toBe(id)
  await proxy.tunnel.close(id)
  await proxy.tunnel.open({ ...spec, app: 'other' })
})

test('a closed tunnel gets its port back next time, also in another process', async () => {
  // Clients of raw ports have proofs of their own, so other users of the computer have no effect on them.
  const { proxy, spec, manager, dataDir } = await setUp(echo, { sharedComputer: true })
  const first = await proxy.tunnel.open(spec)
  await proxy[Symbol.asyncDispose]()
  const options = { managerUrl: manager.url, credentials: manager.credentials, dataDir, userId: manager.userId }
  const again = stack.use(await startProxy({ ...options, sharedComputer: true, sshDirectory: join(dataDir, '.ssh') }))
  expect((await again.tunnel.open(spec)).port).toBe(first.port)
})

test('a session that somebody else shares never gets the port of an own one of that name', async () => {
  const { proxy, spec, manager, dataDir } = await setUp(echo, { server: 'one' })
  const own = await proxy.tunnel.open(spec)
  await proxy.tunnel.close(own.id)
  const theirs = stack.use(await new StandIn([{ app: tcpApp('echo'), port: await aService(echo) }]).start())
  Object.assign(theirs.session, { sharedAs: 'use' })
  const options = { managerUrl: theirs.url, credentials: theirs.credentials, dataDir, userId: manager.userId }
  const other = stack.use(await startProxy({ ...options, server: 'one', sshDirectory: join(dataDir, '.ssh') }))
  const shared = await other.tunnel.open({ ...spec, sessionId: theirs.session.id })
  expect(shared.port).not.toBe(own.port)
  await other.tunnel.close(shared.id)
  // The shared session keeps its own port, and so does the own one.
  expect((await other.tunnel.open({ ...spec, sessionId: theirs.session.id })).port).toBe(shared.port)
  expect((await proxy.tunnel.open(spec)).port).toBe(own.port)
})

test('a hostile server that names user and session as another one does gets neither the port nor the host name there', async () => {
  const { proxy, spec, manager, dataDir } = await setUp(echo, { sharedComputer: false })
  manager.apps.set('web', { app: httpApp('web'), port: 9 })
  const own = await proxy.tunnel.open(spec)
  const { url } = await proxy.tunnel.openApp({ ...spec, app: 'web' })
  await proxy[Symbol.asyncDispose]()
  const hostile = stack.use(await new StandIn([...manager.apps.values()]).start())
  Object.assign(hostile.session, { id: manager.session.id })
  const options = { managerUrl: hostile.url, credentials: hostile.credentials, dataDir, userId: manager.userId }
  const other = stack.use(await startProxy({ ...options, sharedComputer: false, sshDirectory: join(dataDir, '.ssh') }))
  expect((await other.tunnel.open(spec)).port).not.toBe(own.port)
  // Cookies count for a host name, whatever the port.
  const { hostname } = new URL((await other.tunnel.openApp({ ...spec, app: 'web' })).url)
  expect(hostname).toMatch(/^web--/)
  expect(hostname).not.toBe(new URL(url).hostname)
})

test('a hostile server leads no browser elsewhere by the name of an app', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  manager.apps.set('web', { app: { ...httpApp('web'), name: 'x.localhost:8888/?' }, port: 9 })
  const { url } = await proxy.tunnel.openApp({ ...spec, app: 'web' })
  expect(new URL(url).hostname).toMatch(/^web--/)
})

test('closing a tunnel resets its clients and frees the port', async () => {
  const { proxy, spec } = await setUp(echo)
  const { id, port } = await proxy.tunnel.open(spec)
  const client = await dial(port)
  const closed = closeOf(client)
  await proxy.tunnel.close(id)
  await closed
  await proxy.tunnel.close(id)
  expect((await proxy.tunnel.open({ ...spec, port })).port).toBe(port)
})

test('closing all tunnels closes the open ones first and does not wait for an app that is starting', async () => {
  const { proxy, spec, manager } = await setUp(echo)
  manager.apps.set('slow', { app: tcpApp('slow'), port: 9 })
  const { port } = await proxy.tunnel.open(spec)
  manager.held.set('grant', new Promise(() => undefined))
  const opening = proxy.tunnel.open({ ...spec, app: 'slow' })
  const refused = expect(opening).rejects.toMatchObject({ code: 'tunnel_not_found' })
  await expect.poll(() => manager.seen.some(({ url }) => url.endsWith('/slow/grant'))).toBe(true)
  const begun = performance.now()
  await proxy[Symbol.asyncDispose]()
  expect(performance.now() - begun).toBeLessThan(20_000)
  await refused
  const late = connect({ port, host: '127.0.0.1' })
  const [error] = (await once(late, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNREFUSED')
})

test('a tunnel whose session ends while it opens is an error, and is not reused', async () => {
  const asked = Promise.withResolvers<undefined>()
  const released = Promise.withResolvers<undefined>()
  let requests = 0
  const transport: NonNullable<ProxyOptions['transport']> = {
    dial: () => Promise.reject(new AppError('session_not_running')),
    pipe: () => Promise.reject(new Error('nothing is ever dialled')),
    stream: () => {
      throw new Error('nothing is ever dialled')
    },
  }
  const { proxy, spec } = await setUp(echo, {
    transport,
    credentials: async () => {
      // The second request is the one for the grant; the listener exists by then.
      if (++requests === 2) {
        asked.resolve(undefined)
        await released.promise
      }
      return { authorization: 'Bearer test' }
    },
  })
  const port = await aFreePort()
  const opening = proxy.tunnel.open({ ...spec, port })
  const refused = expect(opening).rejects.toMatchObject({ code: 'session_not_running' })
  await asked.promise
  await dial(port)
  released.resolve(undefined)
  await refused
  expect(await proxy.tunnel.list()).toEqual([])
  expect((await proxy.tunnel.open({ ...spec, port })).state).not.toBe('ended')
})

async function aFreePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
