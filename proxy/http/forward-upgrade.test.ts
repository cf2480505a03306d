import { once } from 'node:events'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test, vi } from 'vitest'
import { silentLog } from '../log.ts'
import { createHttpServer } from './create-server.ts'
import { forwardRequest, type Upstream } from './forward.ts'
import { forwardUpgrade } from './forward-upgrade.ts'
import { mapHeaders } from '#base/raw-headers'
import { answerRaw } from './raw-answer.ts'

const servers: { close(): unknown }[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const server of servers.splice(0)) server.close()
})

/** A forwarder to an upstream of raw bytes. */
async function forwarding(onConnection: (socket: Socket) => void) {
  const upstream = createTcpServer({ allowHalfOpen: true }, socket => {
    onConnection(socket.on('error', () => undefined))
  }).listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const options = { host: '127.0.0.1', port: (upstream.address() as AddressInfo).port, agent: false }
  const way: Upstream = {
    options,
    headers: raw => [...raw],
    answerHeaders: raw => mapHeaders(raw, (name, value) => (name === 'set-cookie' ? undefined : value)),
    log: silentLog,
  }
  const failures: string[] = []
  const server = createHttpServer({
    onRequest: (request, response) =>
      forwardRequest(request, response, way, error => {
        failures.push(error.message)
        response.writeHead(502).end()
      }),
    onUpgrade: (request, socket, head) =>
      forwardUpgrade(request, socket, head, way, error => {
        failures.push(error.message)
        answerRaw(socket, { status: 504, type: 'text/plain', body: '' })
      }),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  servers.push(server, upstream)
  const dial = (allowHalfOpen = false) =>
    connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen })
  const connections = () => new Promise<number>(resolve => server.getConnections((_, count) => resolve(count)))
  return { failures, dial, connections }
}

/** An upstream that answers with the request as received, one per connection. */
function echoing(socket: Socket) {
  let seen = ''
  socket.on('data', chunk => {
    seen += chunk.toString('latin1')
    const [head = '', body = ''] = seen.split('\r\n\r\n', 2)
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
    const isOver = /^transfer-encoding:/im.test(head) ? seen.endsWith('0\r\n\r\n') : body.length >= length
    if (isOver) socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${seen.length}\r\n\r\n${seen}`)
  })
}

const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAA\r\n'

test.each<[string, string, string]>([
  ['curl --http2', `${H2C}Content-Length: 5\r\n`, 'hello'],
  ['curl --http2, in chunks', `${H2C}Transfer-Encoding: chunked\r\n`, '5\r\nhello\r\n0\r\n\r\n'],
  ['Java', H2C.replace('Upgrade, HTTP2-Settings', 'Upgrade,HTTP2-Settings') + 'Content-Length: 5\r\n', 'hello'],
  ['settings that Connection does not name', `${H2C.replace(', HTTP2-Settings', '')}Content-Length: 5\r\n`, 'hello'],
  ['Apache HttpClient 5.4', 'Connection: keep-alive, Upgrade\r\nUpgrade: TLS/1.2\r\nContent-Length: 5\r\n', 'hello'],
  ['a WebSocket with a body', 'Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n', 'hello'],
])('an upgrade that is not tunnelled is an ordinary request, and its body arrives: %s', async (_, fields, body) => {
  const { dial } = await forwarding(echoing)
  const client = dial()
  client.write(`POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n${body}`)
  const [first] = (await once(client, 'data')) as [Buffer]
  client.write(`GET /next HTTP/1.1\r\nHost: a\r\n${H2C}Connection: close\r\n\r\n`)
  const answer = first.toString() + (await text(client))
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  expect(answer).toContain('hello')
  // The next request on this connection is parsed as a separate request, not as bytes of another protocol.
  expect(answer).toContain('GET /next HTTP/1.1')
  expect(answer).not.toMatch(/upgrade|http2|h2c|TLS|websocket/i)
})

test.each([
  ['websocket', 'websocket'],
  ['WebSocket, h2c', 'WebSocket'],
  ['berth-data', 'berth-data'],
])('%s is offered to the upstream as %s, and both directions are joined', async (offered, sent) => {
  const heads: string[] = []
  const { dial } = await forwarding(socket => {
    socket.once('data', chunk => {
      heads.push(chunk.toString())
      socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${sent}\r\n\r\n`)
      socket.pipe(socket)
    })
  })
  const client = dial()
  client.write(`GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: ${offered}\r\n\r\n`)
  await once(client, 'data')
  client.end('through')
  expect(await text(client)).toBe('through')
  expect(heads[0]).toMatch(new RegExp(`\r\nUpgrade: ${sent}\r\n`))
})

test('fields of the answer to an upgrade pass the filter of answers', async () => {
  const { dial } = await forwarding(socket => {
    const fields =
      'Set-Cookie: a=b\r\nSec-WebSocket-Accept: c\r\nConnection: Upgrade, X-Hop\r\nX-Hop: d\r\nUpgrade: websocket\r\n'
    socket.once('data', () => socket.end(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n`))
  })
  const client = dial()
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  const answer = await text(client)
  expect(answer).toBe(
    'HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: c\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  )
})

test('an upgrade that the upstream never answers fails', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const asked = Promise.withResolvers<undefined>()
  const { dial, failures } = await forwarding(socket => socket.once('data', () => asked.resolve(undefined)))
  const client = dial()
  client.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  await asked.promise
  vi.advanceTimersByTime(90_000)
  expect(await text(client)).toMatch(/^HTTP\/1\.1 504 /)
  expect(failures).toEqual(['The app did not answer the upgrade.'])
})

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'

test.each([
  ['is not read', 32 * 1024 * 1024],
  ['does not end', 0],
])('the answer to a refused upgrade that %s is cut, also at the upstream', async (_, length) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const answering = Promise.withResolvers<Socket>()
  const { dial, connections } = await forwarding(socket =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n')
      socket.write(Buffer.alloc(length), () => undefined)
      answering.resolve(socket)
    }),
  )
  const client = dial().on('error', () => undefined)
  client.write(`GET / HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`)
  await once(client, 'readable')
  const upstream = await answering.promise
  const gone = new Promise(resolve => upstream.once('end', resolve).once('close', resolve))
  const { promise: stalled, resolve } = Promise.withResolvers<undefined>()
  let moved = -1
  const timer = setInterval(() => {
    if (upstream.bytesWritten === moved) resolve(undefined)
    moved = upstream.bytesWritten
  }, 200)
  await stalled
  clearInterval(timer)
  vi.advanceTimersByTime(59_000)
  expect(await connections()).toBe(1)
  vi.advanceTimersByTime(1_000)
  await gone
  await expect.poll(connections).toBe(0)
})

test('the answer to a refused upgrade goes on as long as it moves', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const answering = Promise.withResolvers<Socket>()
  const { dial } = await forwarding(socket =>
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n')
      answering.resolve(socket)
    }),
  )
  const client = dial()
  client.write(`GET / HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`)
  let said = String(((await once(client, 'data')) as [Buffer])[0])
  client.on('data', chunk => (said += String(chunk)))
  const upstream = await answering.promise
  for (const part of ['a', 'b', 'c']) {
    vi.advanceTimersByTime(50_000)
    upstream.write(part)
    await expect.poll(() => said.endsWith(part)).toBe(true)
  }
  expect(said).toMatch(/^HTTP\/1\.1 200 [^]*\r\n\r\nabc$/)
})

test('a client that stays after the end of its tunnel is cut', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { dial, connections } = await forwarding(socket =>
    socket.once('data', () =>
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nlast'),
    ),
  )
  const client = dial(true)
  client.write(`GET / HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`)
  expect(await text(client)).toMatch(/last$/)
  // The other end closes when it notices that its peer has closed.
  await expect.poll(() => vi.getTimerCount()).toBeGreaterThan(0)
  vi.advanceTimersByTime(59_000)
  expect(await connections()).toBe(1)
  vi.advanceTimersByTime(1_000)
  await expect.poll(connections).toBe(0)
  client.destroy()
})
