import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpServer } from '../http/create-server.ts'
import { switched } from '../http/switched.ts'
import { silentLog } from '../log.ts'
import { createConnectionBudget } from './connection-budget.ts'
import { openOwnCertificate } from './tls/own-certificate.ts'
import { createTlsServer, tlsOptions } from './tls/tls-server.ts'

const KIB = 1024

/**
 * A server with a budget of so many KiB. It never answers `/wait`, and answers `/long` with an answer that fills every buffer. Upgrades are answered
 * at `/tunnel` only.
 */
async function start(mostKiB: number, kind: 'http' | 'https' = 'http') {
  const budget = createConnectionBudget({ mostBytes: mostKiB * KIB, checkEveryMs: 20 })
  onTestFinished(() => budget[Symbol.dispose]())
  let arrived = 0
  const onRequest = (request: IncomingMessage, response: ServerResponse) => {
    arrived++
    budget.request(request, response)
    if (request.url === '/long') response.end(Buffer.alloc(16 * KIB * KIB))
    else if (request.url !== '/wait') response.end('fine')
  }
  const onUpgrade = (request: IncomingMessage, socket: Duplex) => {
    budget.upgrade(request, socket)
    if (request.url === '/tunnel') switched(socket)
  }
  const options = { onRequest, onUpgrade, maxHeaderSize: 256 * KIB, log: silentLog }
  let server = createHttpServer(options)
  if (kind === 'https') {
    const directory = await mkdtemp(join(tmpdir(), 'berth-'))
    onTestFinished(() => rm(directory, { recursive: true }))
    const tls = tlsOptions(await openOwnCertificate(directory, ['localhost'], new Date()))
    server = createTlsServer({ tls: createHttpServer({ ...options, tls }), plain: server }) as typeof server
  }
  server.on('connection', (socket: Socket) => budget.connect(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const connections = () => new Promise<number>(resolve => server.getConnections((_, count) => resolve(count)))
  const send = (bytes: string) => {
    const socket =
      kind === 'https' ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    if (!bytes.includes('/long')) socket.resume()
    socket.write(bytes)
    return socket
  }
  return { send, connections, arrived: () => arrived }
}
const head = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`
const unfinished = (bytes: number) => `GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'y'.repeat(bytes)}`
const open = (sockets: readonly Socket[]) => sockets.filter(({ destroyed }) => !destroyed).length

test.each(['http', 'https'] as const)(
  'heads without an end cost little memory, and a waiting call keeps its connection (%s)',
  async kind => {
    const { send } = await start(1_024, kind)
    const waiting = send(head('/wait'))
    const slow = Array.from({ length: 20 }, () => send(unfinished(200 * KIB)))
    await expect.poll(() => open(slow)).toBeLessThanOrEqual(4)
    expect(open(slow)).toBeGreaterThan(0)
    expect(waiting.destroyed).toBe(false)
  },
)

test('long heads whose answers are not read cost little memory', async () => {
  const { send, connections, arrived } = await start(1_024)
  for (let count = 0; count < 20; count++) send(head('/long', `X: ${'y'.repeat(60 * KIB)}\r\n`))
  await expect.poll(arrived).toBeGreaterThan(9)
  await expect.poll(connections).toBeLessThanOrEqual(5)
  expect(await connections()).toBeGreaterThan(0)
})

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'

test.each(['http', 'https'] as const)('requests for tunnels count until they are tunnels (%s)', async kind => {
  const { send } = await start(10 * 16, kind)
  const tunnels = Array.from({ length: 15 }, () => send(head('/tunnel', UPGRADE)))
  const waiting = Array.from({ length: 15 }, () => send(head('/wait', UPGRADE)))
  await expect.poll(() => open(waiting)).toBeLessThanOrEqual(10)
  expect(open(waiting)).toBeGreaterThan(0)
  expect(open(tunnels)).toBe(15)
})

test('connections that move nothing make room, those in use stay, and so do upgraded ones', async () => {
  const { send } = await start(20 * 16)
  const upgraded = send(head('/tunnel', UPGRADE))
  const idle = Array.from({ length: 19 }, () => send(''))
  const busy = send(head('/'))
  const timer = setInterval(() => busy.write(head('/')), 10)
  onTestFinished(() => clearInterval(timer))
  await once(busy, 'data')
  const more = Array.from({ length: 5 }, () => send(''))
  await expect.poll(() => open(idle) + open(more)).toBeLessThanOrEqual(19)
  expect([busy.destroyed, upgraded.destroyed]).toEqual([false, false])
})

test('the body of an upload is no head', async () => {
  const { send } = await start(64)
  const upload = send(`POST /wait HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${10_000 * KIB}\r\n\r\n`)
  upload.write(Buffer.alloc(512 * KIB))
  await new Promise(resolve => setTimeout(resolve, 200))
  expect(upload.destroyed).toBe(false)
})
