import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { silentLog } from '../log.ts'
import { createForward, isTunnel } from './manager-forward.ts'

type Handler = (request: IncomingMessage, response: ServerResponse) => void
async function listen(handler: Handler): Promise<number> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
const get = (path: string, field = 'Accept: */*') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${field}\r\n\r\n`

test('a pipelined request that cannot be forwarded ends its connection, not the process', async () => {
  const managerPort = await listen((request, response) => response.end(`answer to ${request.url ?? ''}`))
  const log = { ...silentLog, error: vi.fn() }
  const forward = createForward(`http://127.0.0.1:${managerPort}`, 'manager', { log })
  onTestFinished(forward.close)
  const port = await listen((request, response) => {
    // A fault in our code that appears when the previous request has been answered.
    if (request.url === '/api/fault') Object.defineProperty(request, 'headers', { get: () => expect.fail('a fault') })
    forward.request(request, response)
  })
  const uncaught = vi.fn()
  process.once('uncaughtException', uncaught)
  onTestFinished(() => void process.off('uncaughtException', uncaught))

  const pipelined = connect(port, '127.0.0.1').on('error', () => undefined)
  pipelined.write(get('/api/one') + get('/api/fault') + get('/api/three'))
  const said = await text(pipelined)
  expect(said).toContain('answer to /api/one')
  expect(said).not.toContain('/api/three')
  expect(uncaught).not.toHaveBeenCalled()
  expect(log.error).toHaveBeenCalledOnce()

  expect(await (await fetch(`http://127.0.0.1:${port}/api/next`)).text()).toBe('answer to /api/next')
})

test('bodies that arrive slowly do not use up the connections to the manager', async () => {
  const managerPort = await listen((request, response) => {
    request.on('error', () => undefined).resume()
    request.on('end', () => response.end('answer'))
  })
  const forward = createForward(`http://127.0.0.1:${managerPort}`, 'manager', { log: silentLog })
  onTestFinished(forward.close)
  const port = await listen((request, response) => forward.request(request, response))
  const post = (type: string, length: number) =>
    `POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\n${type}Content-Length: ${length}\r\n\r\n{`
  const slow = Array.from({ length: 1100 }, (_, index) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    socket.write(post(index % 2 === 0 ? 'Content-Type: application/json\r\n' : '', 100_000))
    return socket
  })
  onTestFinished(() => slow.forEach(socket => void socket.destroy()))
  await expect.poll(() => slow.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(1000)
  expect(await (await fetch(`http://127.0.0.1:${port}/api/v1/me`)).text()).toBe('answer')
  // Uploads take their time.
  const upload = connect(port, '127.0.0.1')
  upload.write(post('Content-Type: application/offset+octet-stream\r\n', 2))
  await new Promise<void>(done => void upload.write('}', () => done()))
  expect(String(((await once(upload, 'data')) as [Buffer])[0])).toContain('200 OK')
  upload.destroy()
})

const LARGE = Buffer.alloc(8 * 1024 * 1024)

/** A console whose manager gives large answers at all addresses except one, with readers that never read their answers. */
async function withReaders(count: number, headOf: (index: number) => string) {
  const managerPort = await listen(({ url }, response) => void response.end(url === '/api/v1/me' ? 'answer' : LARGE))
  const forward = createForward(`http://127.0.0.1:${managerPort}`, 'manager', {
    trustedProxies: ['127.0.0.1'],
    callQueue: { most: 16, checkEveryMs: 50 },
    log: silentLog,
  })
  onTestFinished(forward.close)
  let entered = 0
  const port = await listen((request, response) => {
    entered++
    forward.request(request, response)
  })
  const download = connect(port, '127.0.0.1').pause()
  download.write(get('/api/v1/folders/1/file', 'Authorization: Bearer theirs'))
  await expect.poll(() => entered).toBe(1)
  const readers = Array.from({ length: count }, (_, index) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    socket.pause().write(headOf(index))
    return socket
  })
  onTestFinished(() => [...readers, download].forEach(socket => void socket.destroy()))
  await expect.poll(() => entered).toBe(count + 1)
  return { port, download }
}

test.each([
  ['strangers', (index: number) => get('/api/v1/openapi.json', `X-Forwarded-For: 2001:db8:${index.toString(16)}::1`)],
  [
    'strangers who say that they are signed in',
    (index: number) => get('/api/v1/openapi.json', `Authorization: Bearer ${index}`),
  ],
  ['one person', () => get('/api/v1/folders/1/file', 'Authorization: Bearer one')],
])(
  'answers that are not read by %s do not use up the connections to the manager, nor end a download of others',
  async (_, head) => {
    const { port, download } = await withReaders(40, head)
    expect(await (await fetch(`http://127.0.0.1:${port}/api/v1/me`)).text()).toBe('answer')
    let bytes = 0
    download.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume()
    await expect.poll(() => bytes).toBeGreaterThan(LARGE.length)
  },
)

/** A console that allows 16 calls, whose manager answers only `/api/v1/me`; with so many waiting calls of one kind. */
async function withWaiting(count: number, headOf: (index: number) => string, waitMs?: number) {
  const reached: string[] = []
  const managerPort = await listen(({ url = '' }, response) => {
    reached.push(url)
    if (url === '/api/v1/me') response.end('answer')
  })
  const callQueue = { most: 16, checkEveryMs: 50, ...(waitMs === undefined ? {} : { waitMs }) }
  const trustedProxies = ['127.0.0.1']
  const forward = createForward(`http://127.0.0.1:${managerPort}`, 'manager', {
    trustedProxies,
    callQueue,
    log: silentLog,
  })
  onTestFinished(forward.close)
  let entered = 0
  const port = await listen((request, response) => {
    entered++
    forward.request(request, response)
  })
  const sockets = Array.from({ length: count }, (_, index) => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined)
    socket.write(headOf(index))
    return socket
  })
  onTestFinished(() => sockets.forEach(socket => void socket.destroy()))
  await expect.poll(() => entered).toBe(count)
  return { port, reached, sockets, entered: () => entered }
}
const START = '/api/v1/sessions/1/apps/jupyter/start'
const me = (port: number, more: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${port}/api/v1/me`, { headers: { authorization: 'Bearer theirs', ...more } })

test('calls of one sign-in that wait at the manager leave connections to other people', async () => {
  const { port, reached } = await withWaiting(40, () => get(START, 'Authorization: Bearer one'))
  expect(await (await me(port)).text()).toBe('answer')
  expect(reached.filter(url => url === START)).toHaveLength(4)
})

test.each([
  ['that names no sign-in', (index: number) => get(START, `X-Forwarded-For: 2001:db8:0:${index.toString(16)}::1`)],
  [
    'with many sign-ins',
    (index: number) => get(START, `X-Forwarded-For: 2001:db8::1\r\nAuthorization: Bearer ${index}`),
  ],
])('calls of one network %s that wait at the manager leave connections to other networks', async (_, head) => {
  const { port, reached } = await withWaiting(40, head)
  expect(await (await me(port, { 'x-forwarded-for': '192.0.2.1' })).text()).toBe('answer')
  expect(reached.filter(url => url === START)).toHaveLength(12)
})

test('a person without a call gets the next connection, before the calls that wait for longer', async () => {
  const { port, reached, sockets, entered } = await withWaiting(40, index =>
    get(START, `X-Forwarded-For: 192.0.2.${index % 10}\r\nAuthorization: Bearer ${index % 10}`),
  )
  await expect.poll(() => reached.length).toBe(16)
  const answer = me(port)
  await expect.poll(entered).toBe(41)
  sockets[0]?.destroy()
  expect(await (await answer).text()).toBe('answer')
})

test('a call that waits for too long for a connection is refused with the next step', async () => {
  const { sockets } = await withWaiting(5, () => get(START, 'Authorization: Bearer one'), 100)
  const said = await new Promise<string>(done => sockets[4]?.once('data', bytes => done(String(bytes))))
  expect(said).toMatch(/^HTTP\/1\.1 429 [^]*"code":"rate_limited"[^]*End some of them/)
})

test('more calls than can wait are refused at once, those of the caller who has most', async () => {
  const { port, sockets } = await withWaiting(40, () => get(START, 'Authorization: Bearer one'))
  const refused = () => sockets.filter(socket => socket.readableLength > 0).length
  await expect.poll(refused).toBe(20)
  expect((await me(port)).status).toBe(200)
})

test.each([
  ['/stream/session/1/tcpproxy?app=jupyter', true],
  ['/stream/folders/sftp', true],
  ['/agent/v1/control', true],
  ['/api/v1/sessions/1/terminal?name=main', true],
  ['/api/v1/sessions/1/%74erminal', true],
  ['/api/v1/openapi.json', false],
  ['/api/v1/openapi.json?/stream/x', false],
  ['/api/v1/openapi.json#/api/v1/sessions/1/terminal', false],
  ['/api/v1/sessions/1/apps/terminal', false],
  ['/streams/session', false],
])('%s is the address of a tunnel: %s', (target, isOne) => {
  expect(isTunnel(target)).toBe(isOne)
})
