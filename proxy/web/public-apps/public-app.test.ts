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
async function setUp() {
  const own = new AsyncDisposableStack()
  stack.push(own)
  const app = createHttp((_, response) => response.end('page')).on('upgrade', (_, socket: Socket) => {
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
  let dials = 0
  const deps = {
    served: { ...served, ...rest, admits: 'links' },
    place: NAME,
    address: parseAppsAddress('http://*.apps.example.org'),
    api: {
      getServedApp: () => Promise.resolve(served),
      grantServedApp: () => Promise.resolve(grant),
      renewGrant: () => Promise.resolve(grant),
      visitServedApp: () => Promise.resolve(),
    },
    transport: {
      dial: async () => {
        dials++
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
  const server = createHttpServer({
    onRequest: (request, response) => published.request(request, response),
    onUpgrade: (request, socket, head) => published.upgrade(request, socket, head),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  own.defer(() => {
    server.close().closeAllConnections()
  })
  const door = { authority: HOST, scheme: 'http', id: 'a link', name: NAME, visitSecret: 's' } as const
  const cookie = `${visitCookie(door).name}=${newVisit({ ...door, nowMs: Date.now() }, Date.parse(expiresAt)).value}`
  return { published, port: (server.address() as AddressInfo).port, cookie, dials: () => dials }
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

test('somebody who lingers at the door keeps nobody out, neither those inside nor those who come', async () => {
  const { port, cookie } = await setUp()
  const slow = Array.from({ length: 600 }, (_, index) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    const from = index % 2 === 0 ? '198.51.100.1' : `2001:db8::${index.toString(16)}`
    const fields = [`Host: ${HOST}`, `X-From: ${from}`, 'Content-Length: 100']
    socket.write(`POST /_berth/open HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\nkey=`)
    return socket
  })
  // Sockets above the limit are told at once.
  await expect.poll(() => slow.filter(socket => socket.bytesRead > 0).length).toBeGreaterThan(500)
  const statusAt = async (path: string, headers: Record<string, string> = {}) => {
    const sent = request({ host: '127.0.0.1', port, path, agent: false, headers: { host: HOST, ...headers } }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return answer.resume().statusCode
  }
  expect([await statusAt('/', { cookie }), await statusAt('/_berth/open?key=k')]).toEqual([200, 303])
  for (const socket of slow) socket.destroy()
})
