import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
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

test('an answer that comes before all of the request says that the connection ends', async () => {
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
