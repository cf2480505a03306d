import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { createClient } from '#manager/contract'
import { createNetwork, directFetch, fetchByEnvironment } from './index.ts'
import { replyOf } from './reply-of.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([
  ['of the environment', fetchByEnvironment],
  ['without a proxy', directFetch],
  ['of a network', createNetwork({ findWays: () => Promise.resolve([{ kind: 'direct' }]) }).fetch],
])('a server cannot send the requests %s to another service of the computer', async (_, fetch) => {
  const reached: string[] = []
  const other = await serve((request, response) => {
    reached.push(`${request.method} ${request.url}`)
    response.end('{}')
  })
  const server = await serve((_request, response) => response.writeHead(307, { location: `${other}/all` }).end())
  for (const method of ['GET', 'DELETE']) expect((await fetch(`${server}/x`, { method })).status).toBe(307)
  const api = createClient({ baseUrl: server, fetch: (url, init) => fetch(url, init as RequestInit) })
  await expect(api.me()).rejects.toMatchObject({ code: 'unavailable' })
  expect(reached).toEqual([])
})

test('an answer without an end, and one that unpacks to very much, are given up', async () => {
  const zeros = Buffer.alloc(1024 * 1024)
  const endless = await serve((_request, response) => {
    Readable.from(
      (function* () {
        for (;;) yield zeros
      })(),
    )
      .pipe(response)
      .on('error', () => undefined)
  })
  const packed = await serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(32 * 1024 * 1024))),
  )
  for (const server of [endless, packed]) {
    const api = createClient({
      baseUrl: server,
      fetch: async (url, init) => replyOf(await directFetch(url, init as RequestInit), 16 * 1024 * 1024),
    })
    await expect(api.me()).rejects.toMatchObject({ code: 'unavailable', detail: { cause: 'not_a_manager_there' } })
  }
})

test('an answer reaches the caller whole, whatever the pieces', async () => {
  const server = await serve((_request, response) => {
    const bytes = Buffer.from('{"é":"한"}')
    response.write(bytes.subarray(0, 3))
    response.end(bytes.subarray(3))
  })
  const reply = replyOf(await directFetch(server))
  expect([reply.status, await reply.text(), reply.headers.get('nothing')]).toEqual([200, '{"é":"한"}', null])
})
