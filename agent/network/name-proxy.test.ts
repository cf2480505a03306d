import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcp, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { defined } from '#base/defined'
import { connectTarget, requestTarget } from './allowed-target.ts'
import { createNameProxy } from './name-proxy.ts'
import { createPublicAddresses } from './public-addresses.ts'
import { parseCidr } from './subnets.ts'

const NAMES = ['example.org', '*.lab.example']

test.each([
  ['example.org:443', { name: 'example.org', port: 443 }],
  ['EXAMPLE.org.:443', { name: 'example.org', port: 443 }],
  ['example.org:80', { name: 'example.org', port: 80 }],
  ['a.b.lab.example:443', { name: 'a.b.lab.example', port: 443 }],
  ['lab.example:443', 'name'],
  ['xlab.example:443', 'name'],
  ['sub.example.org:443', 'name'],
  ['example.org.evil.test:443', 'name'],
  ['evil.test:443', 'name'],
  ['example.org:22', 'port'],
  ['example.org:0443', { name: 'example.org', port: 443 }],
  ['example.org', 'malformed'],
  ['example.org:', 'malformed'],
  ['user@example.org:443', 'malformed'],
  ['example.org\u0000.evil.test:443', 'malformed'],
  ['localhost:443', 'malformed'],
  ['93.184.216.34:443', 'address'],
  ['2130706433:443', 'address'],
  ['0x7f.1:443', 'address'],
  ['127.1:443', 'address'],
  ['[::1]:443', 'address'],
  ['[::ffff:10.0.0.1]:443', 'address'],
])('CONNECT %j leads to %j', (authority, expected) => {
  expect(connectTarget(authority, NAMES)).toEqual(expected)
})

test.each([
  ['http://example.org/a?b=c', { target: { name: 'example.org', port: 80 }, path: '/a?b=c' }],
  ['http://example.org', { target: { name: 'example.org', port: 80 }, path: '/' }],
  ['http://example.org?q', { target: { name: 'example.org', port: 80 }, path: '/?q' }],
  ['HTTP://example.org:80/#part', { target: { name: 'example.org', port: 80 }, path: '/' }],
  ['http://example.org@evil.test/', 'malformed'],
  ['http://example.org\\@evil.test/', 'malformed'],
  ['http://evil.test/http://example.org/', 'name'],
  ['http://10.0.0.1/', 'address'],
  ['http://example.org:8080/', 'port'],
  ['https://example.org/', 'scheme'],
  ['ftp://example.org/', 'scheme'],
  ['/relative', 'malformed'],
  ['*', 'malformed'],
])('a request for %j leads to %j', (url, expected) => {
  expect(requestTarget(url, NAMES)).toEqual(expected)
})

test.each<readonly [string, boolean]>([
  ['1.1.1.1', true],
  ['2606:4700:4700::1111', true],
  ...[
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
  ].map(address => [address, false] as const),
  ...['::1', '::', '::ffff:1.1.1.1', '64:ff9b::7f00:1', 'fe80::1', 'fd00:ec2::254', 'ff02::1', '2002:7f00:1::'].map(
    address => [address, false] as const,
  ),
  ['8.8.8.8', false],
  ['example.org', false],
])('whether the proxy may connect to %s: %s', (address, expected) => {
  expect(createPublicAddresses([parseCidr('8.8.0.0/16')!])(address)).toBe(expected)
})

/** A server of the internet, and what it was asked. */
async function serveHttp(answer: (asked: IncomingMessage, body: string, reply: ServerResponse) => void) {
  const asked: { readonly url: string; readonly headers: readonly string[]; readonly body: string }[] = []
  const server = createServer((request, reply) => {
    void text(request).then(body => {
      asked.push({ url: request.url ?? '', headers: request.rawHeaders, body })
      answer(request, body, reply)
    })
  })
  return { asked, port: await listen(server) }
}

/** A server that says back what it hears, and ends when its peer does. */
const serveEcho = () => listen(createTcp({ allowHalfOpen: true }, socket => void socket.pipe(socket)))

async function listen(server: Server): Promise<number> {
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

async function freePort(): Promise<number> {
  const server = createTcp()
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise(done => server.close(done))
  return port
}

/** A proxy for which every name has these addresses. @param to port of the server that stands for all ports of all addresses */
async function startProxy({ addresses = ['1.1.1.1'], isAllowed = () => true, to = 1 }: ProxyOptions = {}) {
  const port = await freePort()
  const looked: string[] = []
  const dialled: string[] = []
  const proxy = createNameProxy({
    port,
    isAllowed,
    resolve(name) {
      looked.push(name)
      return Promise.resolve(addresses)
    },
    open(wanted) {
      dialled.push(`${wanted.host}:${wanted.port}`)
      return connect({ host: '127.0.0.1', port: to, allowHalfOpen: true })
    },
    log: { warn: () => undefined },
  })
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  await proxy.open('127.0.0.1', NAMES)
  /** Everything that the proxy sends back for these bytes. */
  const ask = (bytes: string, { localAddress, ends = false }: { localAddress?: string; ends?: boolean } = {}) => {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, ...defined({ localAddress }) })
    socket.on('error', () => undefined)
    if (ends) socket.end(bytes)
    else socket.write(bytes)
    return text(socket.once('end', () => socket.end())).catch(() => 'reset')
  }
  return { proxy, looked, dialled, ask }
}

interface ProxyOptions {
  readonly addresses?: readonly string[]
  readonly isAllowed?: (address: string) => boolean
  readonly to?: number
}

test('names outside of the list are never looked up, and nothing is said about addresses', async () => {
  const { ask, looked, dialled } = await startProxy({ addresses: ['10.0.0.7'], isAllowed: () => false })
  const outside = await ask('CONNECT evil.test:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n')
  expect(outside).toMatch(/^HTTP\/1.1 403 .*allow list/s)
  const forwarded = await ask('GET http://evil.test/ HTTP/1.1\r\nHost: example.org\r\n\r\n')
  expect(forwarded).toMatch(/^HTTP\/1.1 403 .*allow list/s)
  expect(looked).toEqual([])
  const inside = await ask('CONNECT a.lab.example:443 HTTP/1.1\r\nHost: a.lab.example:443\r\n\r\n')
  expect(inside).toMatch(/^HTTP\/1.1 403 .*public internet/s)
  expect(inside).not.toContain('10.0.0.7')
  expect(looked).toEqual(['a.lab.example'])
  expect(dialled).toEqual([])
})

test('the connection goes to an address that was judged, and to no other one of the name', async () => {
  const isAllowed = (address: string) => address === '1.1.1.2'
  const { ask, dialled } = await startProxy({
    addresses: ['10.0.0.7', '1.1.1.2', 'fd00::1'],
    isAllowed,
    to: await serveEcho(),
  })
  expect(await ask('CONNECT example.org:443 HTTP/1.1\r\n\r\nhello', { ends: true })).toMatch(
    /^HTTP\/1.1 200 .*\r\n\r\nhello$/s,
  )
  expect(dialled).toEqual(['1.1.1.2:443'])
})

test('a forwarded request goes to its target, whatever its Host field says, without fields about the connection', async () => {
  const { asked, port } = await serveHttp((_, body, reply) =>
    reply.writeHead(201, { 'x-said': 'yes' }).end(`got ${body}`),
  )
  const { ask, dialled } = await startProxy({ to: port })
  const fields =
    'Host: evil.test\r\nX-Own: 1\r\nX-Hop: 2\r\nConnection: close, x-hop\r\nProxy-Authorization: Basic c2VjcmV0'
  const answer = await ask(`POST http://example.org/a?b HTTP/1.1\r\n${fields}\r\nContent-Length: 4\r\n\r\nbody`)
  expect(answer).toMatch(/^HTTP\/1.1 201 .*x-said: yes.*got body/s)
  expect(dialled).toEqual(['1.1.1.1:80'])
  expect(asked).toEqual([
    {
      url: '/a?b',
      body: 'body',
      headers: ['X-Own', '1', 'Content-Length', '4', 'Host', 'example.org', 'Connection', 'close'],
    },
  ])
})

test('a body in chunks stays a body: the server sees one request', async () => {
  const { asked, port } = await serveHttp((_, _body, reply) => reply.end('once'))
  const { ask } = await startProxy({ to: port })
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: evil.test\r\n\r\n'
  const chunks = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`
  const head = 'GET http://example.org/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n'
  expect(await ask(head + chunks)).toMatch(/once/)
  expect(asked.map(({ url, body }) => [url, body])).toEqual([['/', hidden]])
})

test('a body keeps its length, also where Connection names it: the server sees one request', async () => {
  const { asked, port } = await serveHttp((_, _body, reply) => reply.end('once'))
  const { ask } = await startProxy({ to: port })
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: evil.test\r\n\r\n'
  const fields = `Host: a\r\nConnection: close, content-length\r\nContent-Length: ${hidden.length}`
  expect(await ask(`GET http://example.org/ HTTP/1.1\r\n${fields}\r\n\r\n${hidden}`)).toMatch(/once/)
  expect(asked.map(({ url, body }) => [url, body])).toEqual([['/', hidden]])
})

test('a request that is no HTTP, has two lengths or is too large is refused unread', async () => {
  const { ask, looked } = await startProxy()
  const start = 'POST http://example.org/ HTTP/1.1\r\nHost: example.org\r\n'
  const hidden = 'GET http://example.org/hidden HTTP/1.1\r\nHost: a\r\n\r\n'
  expect(await ask(`${start}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`)).not.toMatch(
    / 2\d\d /,
  )
  expect(await ask(`${start}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`)).not.toMatch(/ 2\d\d /)
  expect(await ask(`${start}X: ${'x'.repeat(20_000)}\r\n\r\n`)).not.toMatch(/ 2\d\d /)
  expect(await ask('\x16\x03\x01\x00\xa5not http')).not.toMatch(/ 2\d\d /)
  expect(looked).toEqual([])
})

test('a peer that is not on the bridge of the session is not served', async () => {
  const { ask, looked } = await startProxy()
  expect(['', 'reset']).toContain(await ask('CONNECT example.org:443 HTTP/1.1\r\n\r\n', { localAddress: '127.0.0.77' }))
  expect(looked).toEqual([])
})

test('a session that ends loses its connections, and a port that is taken is said', async () => {
  const { proxy, ask } = await startProxy({ to: await listen(createTcp(socket => void socket.write('held'))) })
  const held = ask('CONNECT example.org:443 HTTP/1.1\r\n\r\n')
  await expect.poll(() => proxy.connections).toBe(1)
  await proxy.close('127.0.0.1')
  expect(await held).toMatch(/^$|reset|200/)
  await expect.poll(() => proxy.connections).toBe(0)
  const other = createTcp()
  await new Promise<void>(done => other.listen(proxy.port, '127.0.0.1', done))
  onTestFinished(() => void other.close())
  await expect(proxy.open('127.0.0.1', NAMES)).rejects.toMatchObject({ code: 'unavailable' })
})
