import { once } from 'node:events'
import { type Server } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
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

/** Accepts for a server that does not listen. */
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
