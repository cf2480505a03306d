import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { type AppError, SessionId, toProblem, AppError as Failure } from '#manager/contract'
import { dialTunnel } from './dial.ts'

const SESSION = SessionId.parse('01900000-0000-7000-8000-000000000001')

/** A manager that answers a request with these bytes; `close` then ends the connection. */
async function answering(answer: (request: string, socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', request => answer(request.toString(), socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    managerUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/prefix/`,
    [Symbol.dispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const dial = (managerUrl: string, more: Partial<Parameters<typeof dialTunnel>[0]> = {}) =>
  dialTunnel({ managerUrl, sessionId: SESSION, app: 'a b', headers: { 'x-berth-grant': 'g' }, ...more })
const failure = async (dialled: Promise<unknown>) => (await dialled.catch((error: unknown) => error)) as AppError
const problem = (error: Failure, cut = Infinity) => {
  const body = JSON.stringify(toProblem(error)).slice(0, cut)
  return `HTTP/1.1 409 Conflict\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
}

test('the request names session and app, keeps the prefix of the URL, and carries the grant in a header', async () => {
  const asked = Promise.withResolvers<string>()
  using manager = await answering((request, socket) => {
    asked.resolve(request)
    socket.destroy()
  })
  await failure(dial(manager.managerUrl))
  const request = await asked.promise
  expect(request).toMatch(
    /^GET \/prefix\/stream\/session\/01900000-0000-7000-8000-000000000001\/tcpproxy\?app=a%20b HTTP\/1\.1\r\n/,
  )
  expect(request).toContain('x-berth-grant: g\r\n')
})

test('a refusal that arrives in pieces throws its code', async () => {
  const bytes = problem(new Failure('session_not_running', { status: 'PENDING' }))
  using manager = await answering((_request, socket) => {
    socket.write(bytes.slice(0, 30))
    setImmediate(() => socket.write(bytes.slice(30)))
  })
  const error = await failure(dial(manager.managerUrl))
  expect(error.code).toBe('session_not_running')
  expect(error.detail.status).toBe('PENDING')
})

test.each<[string, string]>([
  ['the accept key is wrong', 'HTTP/1.1 101 X\r\nSec-WebSocket-Accept: AAAA\r\n\r\n'],
  ['it is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ['the header does not end', 'x'.repeat(20_000)],
  ['a proxy answers with HTML', 'HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p/>'],
  ['the problem document is cut', problem(new Failure('forbidden'), 20)],
])('if %s, the manager counts as unavailable', async (_name, bytes) => {
  using manager = await answering((_request, socket) => void socket.write(bytes))
  expect((await failure(dial(manager.managerUrl))).code).toBe('unavailable')
})

test('a closed port, silence, and a client that left each end the dial', async () => {
  expect((await failure(dial('http://127.0.0.1:1'))).code).toBe('unavailable')
  using manager = await answering(() => undefined)
  expect((await failure(dial(manager.managerUrl, { timeoutMs: 50 }))).code).toBe('unavailable')
  const reason = new Error('the client went away')
  expect(await failure(dial(manager.managerUrl, { signal: AbortSignal.abort(reason) }))).toBe(reason)
  const later = new AbortController()
  const dialled = failure(dial(manager.managerUrl, { signal: later.signal }))
  later.abort(reason)
  expect(await dialled).toBe(reason)
})

test('a header with a line break is refused before anything is sent', async () => {
  using manager = await answering(() => undefined)
  const error = await failure(dial(manager.managerUrl, { headers: { 'x-berth-grant': 'a\r\nb' } }))
  expect(error.code).toBe('bad_request')
})

test('an app name with characters that no URL can hold is sent with replacements', async () => {
  const asked = Promise.withResolvers<string>()
  using manager = await answering((request, socket) => {
    asked.resolve(request)
    socket.destroy()
  })
  expect((await failure(dial(manager.managerUrl, { app: 'a\ud800' }))).code).toBe('unavailable')
  expect(await asked.promise).toContain('tcpproxy?app=a%EF%BF%BD HTTP')
})
