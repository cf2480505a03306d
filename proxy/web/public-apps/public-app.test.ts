import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { parseAppsAddress } from '#manager/contract'
import { createHttpServer } from '../../http/create-server.ts'
import { silentLog } from '../../log.ts'
import { createPublicApp, type PublicAppDeps } from './public-app.ts'
import { newVisit, visitCookie } from './public-gate.ts'

const stack: AsyncDisposableStack[] = []
afterEach(() => stack.pop()?.disposeAsync())

const NAME = 'abcdefghijklmnop'
const HOST = `${NAME}.apps.example.org`

/** A published app whose server echoes over a WebSocket, without manager and tunnel. */
async function setUp(admits: 'links' | 'tickets' = 'links') {
  const own = new AsyncDisposableStack()
  stack.push(own)
  const app = createHttp(({ url, headers }, response) => {
    if (url === '/local') response.writeHead(headers.host === 'localhost' ? 200 : 403)
    if (url === '/endless') response.write('page')
    else response.end('page')
  }).on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    socket.pipe(socket)
  })
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  own.defer(() => void app.close())
  const { port } = app.address() as AddressInfo
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const served = { id: 'a link', name: NAME, port: null, sessionId: 'a session', app: 'web', path: '/' }
  const rest = { sessionName: 'train', title: 'Web', needsPassword: false, addresses: [], expiresAt, visitSecret: 's' }
  const grant = { grant: 'g', sessionId: 'a session', app: served.app, expiresAt, inject: null }
  const deps = {
    served: { ...served, ...rest, admits },
    place: NAME,
    address: parseAppsAddress('http://*.apps.example.org'),
    api: {
      getServedApp: () => Promise.resolve(served),
      grantServedApp: () => Promise.resolve(grant),
      grantOwnApp: () => Promise.resolve(grant),
      renewGrant: () => Promise.resolve(grant),
      visitServedApp: () => Promise.resolve(),
    },
    transport: {
      dial: async () => {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        await once(socket, 'connect')
        return socket
      },
      stream: (socket: Socket) => socket,
    },
    addressOf: ({ headers }: IncomingMessage) => headers['x-from'] ?? '203.0.113.7',
    onEnded: () => undefined,
    log: silentLog,
  }
  const published = own.use(createPublicApp(deps as unknown as PublicAppDeps))
  let entered = 0
  const server = createHttpServer({
    onRequest(request, response) {
      entered++
      return published.request(request, response)
    },
    onUpgrade(request, socket, head) {
      entered++
      return published.upgrade(request, socket, head)
    },
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  own.defer(() => {
    server.close().closeAllConnections()
  })
  const door = { authority: HOST, scheme: 'http', id: 'a link', name: NAME, visitSecret: 's' } as const
  const cookie = `${visitCookie(door).name}=${newVisit({ ...door, nowMs: Date.now() }, Date.parse(expiresAt), admits === 'links' ? undefined : 'a sign-in').value}`
  return { published, port: (server.address() as AddressInfo).port, cookie, entered: () => entered }
}

test('an app that is used by a WebSocket alone is not idle', async () => {
  const { published, port, cookie } = await setUp()
  const socket = connect(port, '127.0.0.1')
  const fields = [
    `Host: ${HOST}`,
    `Origin: http://${HOST}`,
    `Cookie: ${cookie}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
  ]
  socket.write(`GET /_stcore/stream HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
  await once(socket, 'data')
  published.closeIdle(-1)
  expect(published.isUsed()).toBe(true)
  socket.write('hello')
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toBe('hello')
  socket.destroy()
  await expect.poll(() => published.isUsed()).toBe(false)
})

/** Opens so many sockets at the server, each with its first bytes. */
function comeTogether(port: number, count: number, firstOf: (index: number) => string): Socket[] {
  return Array.from({ length: count }, (_, index) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    socket.write(firstOf(index))
    return socket
  })
}

async function statusAt(port: number, path: string, headers: Record<string, string> = {}) {
  const sent = request({ host: '127.0.0.1', port, path, agent: false, headers: { host: HOST, ...headers } }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  return answer.resume().statusCode
}

const head = (line: string, fields: Record<string, string>) =>
  `${line} HTTP/1.1\r\nHost: ${HOST}\r\n${Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`

test.each([
  ['one address', () => '198.51.100.1'],
  ['a whole /48 of IPv6', (index: number) => `2001:db8:1:${index.toString(16)}::1`],
  ['as many networks', (index: number) => `2001:db8:${index.toString(16)}::1`],
])('somebody with %s who lingers at the door keeps nobody out', async (_, addressOf) => {
  const { port, cookie, entered } = await setUp()
  const slow = comeTogether(
    port,
    600,
    index => `${head('POST /_berth/open', { 'X-From': addressOf(index), 'Content-Length': '100' })}key=`,
  )
  let closed = 0
  for (const socket of slow) socket.once('close', () => closed++)
  // The first ones may have made room before they were heard.
  await expect.poll(() => entered() + closed).toBeGreaterThanOrEqual(600)
  expect([await statusAt(port, '/', { cookie }), await statusAt(port, '/_berth/open?key=k')]).toEqual([200, 303])
  for (const socket of slow) socket.destroy()
})

const SOCKET = { Origin: `http://${HOST}`, Upgrade: 'websocket', Connection: 'Upgrade' }

test.each([
  ['sockets', '/_stcore/stream', SOCKET],
  ['answers without an end', '/endless', {}],
])('a visitor with 300 %s keeps no other visitor out, and not the sockets that they use', async (_, path, fields) => {
  const { port, cookie, entered } = await setUp()
  const [used] = comeTogether(port, 1, () => head('GET /_stcore/stream', { ...SOCKET, Cookie: cookie })) as [Socket]
  await once(used, 'data')
  const of = { 'X-From': '198.51.100.1', Cookie: cookie, ...fields }
  const greedy = comeTogether(port, 300, () => head(`GET ${path}`, of))
  await expect.poll(entered).toBe(301)
  expect(await statusAt(port, '/', { cookie })).toBe(200)
  const [another] = comeTogether(port, 1, () => head('GET /_stcore/stream', { ...SOCKET, Cookie: cookie })) as [Socket]
  expect(String(((await once(another, 'data')) as [Buffer])[0])).toContain(' 101 ')
  used.write('hello')
  expect(String(((await once(used, 'data')) as [Buffer])[0])).toBe('hello')
  for (const socket of [...greedy, used, another]) socket.destroy()
})

test.each([
  ['the people of a session by localhost', 'tickets', [403, 200, 200]],
  ['visitors of a link by its name only', 'links', [403, 403, 403]],
] as const)('an app that takes localhost only gets %s', async (_, admits, statuses) => {
  const { port, cookie } = await setUp(admits)
  const got: unknown[] = []
  for (let index = 0; index < 3; index++) got.push(await statusAt(port, '/local', { cookie, accept: 'text/html' }))
  expect(got).toEqual(statuses)
})
