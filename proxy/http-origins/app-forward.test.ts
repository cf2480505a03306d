import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { createHttpServer } from '../http/create-server.ts'
import { silentLog } from '../log.ts'
import { createAppForward } from './app-forward.ts'
import { failurePage } from './pages.ts'

const servers: { close(): unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** Answer to a visitor of an app that calls `act` at the first bytes of a connection. */
async function visit(act: (socket: Socket) => void): Promise<string> {
  const app = createServer(socket => socket.on('error', () => undefined).once('data', () => act(socket)))
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  const port = await serving((app.address() as AddressInfo).port)
  servers.push(app)
  const client = connect(port, '127.0.0.1')
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
  return await text(client)
}

/** Forwards to the app at this port. @returns the port for visitors */
async function serving(app: number): Promise<number> {
  const forward = createAppForward({
    connect: async () => {
      const socket = connect(app, '127.0.0.1')
      await once(socket, 'connect')
      return socket
    },
    requestHeaders: (_, raw) => [...raw],
    answerHeaders: (_, raw) => [...raw],
    failurePage: failure => failurePage({ ...failure, app: 'Port 8000', session: 'train' }),
    log: silentLog,
  })
  const server = createHttpServer({ onRequest: forward.request, log: silentLog }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server, forward)
  return (server.address() as AddressInfo).port
}

const TLS_ALERT = Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x46])
const RELOADS = /http-equiv="refresh"/

test.each<[string, string | Buffer, RegExp]>([
  [
    'two lengths',
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
    /The reason: .*Content-Length/,
  ],
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', /The reason: /],
  ['an endless head', `HTTP/1.1 200 OK\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`, /The reason: Header overflow/],
  ['a TLS alert', TLS_ALERT, /The app speaks https/],
])('an answer that cannot be read is told as such, and not asked for again: %s', async (_, bytes, told) => {
  const page = await visit(socket => socket.end(bytes))
  expect(page).toMatch(/^HTTP\/1\.1 502 /)
  expect(page).toContain('gave an answer that is not valid HTTP')
  expect(page).toMatch(told)
  expect(page).not.toMatch(RELOADS)
})

test('an answer that repeats its length is passed on with one, whatever the request was like', async () => {
  const fields = 'Content-Length: 2\r\nX: 1\r\ncontent-length:2\r\nContent-Length: 2\r\n'
  const app = createServer(socket => {
    socket.on('error', () => undefined).once('data', () => socket.end(`HTTP/1.1 200 OK\r\n${fields}\r\nok`))
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  servers.push(app)
  const port = await serving((app.address() as AddressInfo).port)
  for (const request of ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', postOf('x'.repeat(100_000))]) {
    const client = connect(port, '127.0.0.1')
    client.write(request.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))
    const answer = await text(client)
    expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Length: 2\r\nX: 1\r\nConnection: close\r\n\r\nok$/)
  }
})

test('an app that closes the connection without an answer may still be starting, or speak https', async () => {
  const page = await visit(socket => socket.end())
  expect(page).toMatch(/^HTTP\/1\.1 502 /)
  expect(page).toMatch(RELOADS)
  expect(page).toContain('as apps do that speak https')
})

test('a POST reaches an app that closes its kept connections with the next request', async () => {
  const app = createServer(socket => {
    let count = 0
    socket.on('error', () => undefined)
    socket.on('data', () => {
      if (++count > 1) socket.destroy()
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  const { port } = app.address() as AddressInfo
  const server = await serving(port)
  const client = connect(server, '127.0.0.1')
  const bodies = ['GET / HTTP/1.1\r\nHost: a\r\n\r\n', ...['small', 'x'.repeat(100_000)].map(postOf)]
  for (const request of bodies) {
    client.write(request)
    const [answer] = (await once(client, 'data')) as [Buffer]
    expect(String(answer)).toMatch(/^HTTP\/1\.1 200 [^]*ok$/)
  }
  client.destroy()
  servers.push(app)
})

const postOf = (body: string) => `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`
