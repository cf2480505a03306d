import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { silentLog } from '../log.ts'
import { createHttpServer, createUnboundHttpServer } from './create-server.ts'

const servers: { close(): unknown }[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const QUIET = { onRequest: () => undefined, log: silentLog }
const SOON = { ...QUIET, headersTimeout: 50, connectionsCheckingInterval: 10 }

async function dial(server: ReturnType<typeof createServer>): Promise<Socket> {
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  return connect((server.address() as AddressInfo).port, '127.0.0.1')
}

/** Passes connections to a server that does not listen. */
function feeding(server: Server) {
  servers.push(server)
  return createServer(socket => server.emit('connection', socket))
}

test('a head has half a minute, the rest of a request has no limit', () => {
  expect(createHttpServer(QUIET)).toMatchObject({ headersTimeout: 30_000, requestTimeout: 0 })
})

test.each([
  ['listens', () => createHttpServer(SOON)],
  ['is handed its connections', () => feeding(createUnboundHttpServer(SOON))],
])('an endless head is refused by a server that %s', async (_, create) => {
  const client = await dial(create())
  client.write('GET / HTTP/1.1\r\nHost: a\r\n')
  expect(await text(client)).toMatch(/^HTTP\/1.1 408 /)
})

test('a server that is handed its connections closes them', async () => {
  const server = createUnboundHttpServer(QUIET)
  const client = await dial(feeding(server))
  client.on('error', () => undefined)
  const closed = once(client, 'close')
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(server, 'request')
  server.closeAllConnections()
  await closed
})

test.each([
  ['throws', (): unknown => JSON.parse('{')],
  ['rejects', () => Promise.reject(new Error('unforeseen'))],
])('a listener that %s ends only its own connection, and is logged', async (_, onRequest) => {
  const faults: object[] = []
  const log = { ...silentLog, error: (fields: object) => faults.push(fields) }
  for (const more of ['', 'Connection: Upgrade\r\nUpgrade: x\r\n']) {
    const client = await dial(createHttpServer({ onRequest, onUpgrade: onRequest, log }))
    client.write(`GET / HTTP/1.1\r\nHost: a\r\n${more}\r\n`)
    expect(await text(client)).toBe('')
  }
  expect(faults).toHaveLength(2)
})

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'

test('a request for a tunnel at an address without tunnels is an ordinary request', async () => {
  const server = createHttpServer({
    onRequest: (_request, response) => response.end('answer'),
    onUpgrade: (_request, socket) => socket.end('tunnel'),
    hasTunnels: ({ url }) => url === '/tunnel',
    log: silentLog,
  })
  const client = await dial(server)
  client.write(`GET / HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`)
  const [first] = (await once(client, 'data')) as [Buffer]
  expect(first.toString()).toMatch(/^HTTP\/1\.1 200 [^]*answer/)
  client.write(`GET /tunnel HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`)
  expect(await text(client)).toBe('tunnel')
})

test('a request for a tunnel behind an answer that is not read ends the connection', async () => {
  const onUpgrade = vi.fn()
  const server = createHttpServer({
    onRequest: (_request, response) => response.end(Buffer.alloc(32 * 1024 * 1024)),
    onUpgrade,
    log: silentLog,
  })
  const client = (await dial(server)).on('error', () => undefined).pause()
  const connected = once(server, 'connection')
  client.write(`GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`)
  const [connection] = (await connected) as [Socket]
  await once(connection, 'close')
  expect(onUpgrade).not.toHaveBeenCalled()
})

test.each([
  ['answers a client that ends its side', '', 'answer'],
  ['takes a browser that does so for one that has gone', 'User-Agent: Mozilla/5.0\r\n', undefined],
])('a server %s', async (_, fields, answer) => {
  const server = createHttpServer({
    onRequest: (_request, response) => {
      response.once('close', () => gone.resolve(response.writableFinished ? 'answer' : undefined))
      if (answer) setTimeout(() => response.end(answer), 50)
    },
    log: silentLog,
  })
  const gone = Promise.withResolvers<string | undefined>()
  const client = await dial(server)
  client.end(`GET / HTTP/1.1\r\nHost: a\r\n${fields}\r\n`)
  const got = await text(client)
  expect(await gone.promise).toBe(answer)
  expect(got.endsWith(answer ?? '')).toBe(true)
})

test('a client that ends its side with its request gets the answer also where this process stalls meanwhile', async () => {
  const server = createHttpServer({
    onRequest(_request, response) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
      setTimeout(() => response.end('answer'), 300)
    },
    log: silentLog,
  })
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true })
  client.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  expect(await text(client)).toMatch(/answer$/)
})

test('a client that ends its side later than with its request has gone', async () => {
  const gone = Promise.withResolvers<undefined>()
  const began = Promise.withResolvers<undefined>()
  const client = await dial(
    createHttpServer({
      onRequest(_, response) {
        response.once('close', gone.resolve)
        began.resolve(undefined)
      },
      log: silentLog,
    }),
  )
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await began.promise
  // The server's timer of 100 ms began earlier in this process, so it fires before this one.
  await delay(150)
  client.end()
  await gone.promise
})

const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

test('requests that wait for an answer keep later ones of their connection from being handled', async () => {
  const onRequest = vi.fn((_: IncomingMessage, response: ServerResponse) => void responses.push(response))
  const responses: ServerResponse[] = []
  const client = await dial(createHttpServer({ onRequest, log: silentLog }))
  client.write(GET.repeat(100))
  await expect.poll(() => responses.length).toBe(4)
  for (let at = 0; at < 100; at++) {
    await expect.poll(() => responses.length).toBeGreaterThan(at)
    responses[at]?.end()
  }
  expect(onRequest).toHaveBeenCalledTimes(100)
  client.destroy()
})

test('any number of requests is answered on a connection', async () => {
  let number = 0
  const client = await dial(
    createHttpServer({
      onRequest: (_, response) => void setImmediate(() => response.end(`answer ${number++};`)),
      log: silentLog,
    }),
  )
  let said = ''
  client.on('data', (chunk: Buffer) => (said += chunk.toString()))
  for (let round = 1; round <= 3; round++) {
    client.write(GET.repeat(400))
    await expect.poll(() => said).toContain(`answer ${round * 400 - 1};`)
  }
  client.destroy()
})
