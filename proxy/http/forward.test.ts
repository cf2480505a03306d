import { once } from 'node:events'
import { Agent, createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { silentLog } from '../log.ts'
import { createHttpServer } from './create-server.ts'
import { forwardRequest, forwardUpgrade } from './forward.ts'
import { answerRaw } from './raw-answer.ts'

test.each([
  ['a name', ['bad header', 'x']],
  ['a value', ['Authorization', 'a\r\nX: b']],
])('a request whose upstream headers hold %s that cannot be sent fails, and only this request', async (_, headers) => {
  const upstream = { options: { host: '127.0.0.1', port: 9 }, headers: () => headers, log: silentLog }
  const failures: Error[] = []
  const server = createHttpServer({
    onRequest: (request, response) =>
      forwardRequest(request, response, upstream, error => {
        failures.push(error)
        response.writeHead(502).end()
      }),
    onUpgrade: (request, socket, head) =>
      forwardUpgrade(request, socket, head, upstream, error => {
        failures.push(error)
        answerRaw(socket, { status: 502, type: 'text/plain', body: '' })
      }),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const body = 'x'.repeat(100_000)
  for (const rest of [
    'Connection: close\r\n\r\n',
    'Connection: Upgrade\r\nUpgrade: x\r\n\r\n',
    `Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  ]) {
    const client = connect(port, '127.0.0.1')
    client.write(`POST / HTTP/1.1\r\nHost: a\r\n${rest}`)
    expect(await text(client)).toMatch(/^HTTP\/1.1 502 /)
  }
  expect(failures).toHaveLength(3)
  server.close()
})

test('an answer before the end of the request announces that the connection closes', async () => {
  const early = createServer((_request, response) => response.writeHead(413, { 'content-length': '2' }).end('no'))
  early.listen(0, '127.0.0.1')
  await once(early, 'listening')
  const { port: upstreamPort } = early.address() as AddressInfo
  const upstream = { options: { host: '127.0.0.1', port: upstreamPort }, headers: () => ['Host', 'a'], log: silentLog }
  const server = createHttpServer({
    onRequest: (request, response) => forwardRequest(request, response, upstream, () => response.writeHead(502).end()),
    onUpgrade: (_request, socket) => socket.destroy(),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${'x'.repeat(1000)}`)
  const [head] = (await once(client, 'data')) as [Buffer]
  // Otherwise the client sends its next request on a connection that is about to end.
  expect(head.toString()).toMatch(/^HTTP\/1.1 413 [^]*\r\nconnection: close\r\n/i)
  client.destroy()
  server.close()
  early.close()
  early.closeAllConnections()
})

/** A forwarder to an upstream of raw bytes; `failures` are those that the forwarder reported. */
async function forwarding(onConnection: (socket: Socket) => void) {
  const upstream = createTcpServer(socket => {
    socket.on('error', () => undefined)
    onConnection(socket)
  })
  upstream.listen(0, '127.0.0.1')
  await once(upstream, 'listening')
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const options = { host: '127.0.0.1', port: (upstream.address() as AddressInfo).port, agent }
  const failures: Error[] = []
  const server = createHttpServer({
    onRequest: (request, response) =>
      forwardRequest(request, response, { options, headers: () => ['Host', 'a'], log: silentLog }, error => {
        failures.push(error)
        response.writeHead(502).end()
      }),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    failures,
    async exchange(request: string): Promise<Buffer> {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined)
      client.write(request)
      return await buffer(client)
    },
    [Symbol.dispose]() {
      agent.destroy()
      for (const closing of [server, upstream]) closing.close()
    },
  }
}

test('small answers keep every byte, and their connection serves the next request', async () => {
  const body = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
  let connections = 0
  using proxy = await forwarding(socket => {
    connections++
    socket.on('data', chunk => {
      const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`
      socket.write(chunk.toString().startsWith('HEAD') ? head : Buffer.concat([Buffer.from(head), body]))
    })
  })
  for (const method of ['GET', 'HEAD', 'GET']) {
    const answer = await proxy.exchange(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    const bodyAt = answer.indexOf('\r\n\r\n') + 4
    expect(answer.toString('latin1', 0, bodyAt)).toMatch(/^HTTP\/1.1 200 OK\r\nContent-Length: 256\r\n/)
    expect(answer.subarray(bodyAt)).toEqual(method === 'HEAD' ? Buffer.alloc(0) : body)
  }
  expect({ connections, failures: proxy.failures }).toEqual({ connections: 1, failures: [] })
})

test('an answer whose body is broken from its first byte is cut, and no second answer follows', async () => {
  using proxy = await forwarding(socket => {
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnothing\r\n'))
  })
  const answer = (await proxy.exchange('GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toString()
  expect(answer).not.toContain('502')
  expect(answer).not.toMatch(/\r\n0\r\n\r\n$/)
  expect(proxy.failures).toEqual([])
})
