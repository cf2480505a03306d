import { once } from 'node:events'
import { rm, utimes, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { defined } from '#base/defined'
import { startTestManager } from '../../fixtures/manager.ts'
import { rawBytes } from '../../fixtures/raw-http.ts'
import { ask, signedIn, signInCookie, startWebConsole, type WebConsoleOptions } from '../../fixtures/web-console.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})
const setUp = (options?: WebConsoleOptions) => startWebConsole(stack, options)

test.each(['0.0.0.0', '127.0.0.2'])('a console at %s is also the program that localhost means', async host => {
  const { web } = await setUp({ host })
  expect((await ask(web.port, '/')).status).toBe(200)
  for (const address of ['127.0.0.1', '::1']) {
    const other = createTcpServer().listen({ host: address, port: web.port, ipv6Only: address === '::1' })
    stack.defer(() => void other.close())
    await expect(once(other, 'listening')).rejects.toMatchObject({ code: 'EADDRINUSE' })
  }
})

test('the page has a strict policy, hashed files are cached for ever, and unknown routes lead to the page', async () => {
  const { web } = await setUp()
  const page = await ask(web.port, '/')
  expect(page.status).toBe(200)
  expect(page.headers['content-security-policy']).toContain("script-src 'self';")
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
  expect(page.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' })
  const asset = await ask(web.port, '/assets/main-abc123.js')
  expect(asset.headers['cache-control']).toContain('immutable')
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  for (const [path, location] of [
    ['/sessions', './#/sessions'],
    ['/terminal/42?shell=1', '../#/terminal/42?shell=1'],
    ['//example.org/a', '../#/example.org/a'],
  ] as const)
    expect(await ask(web.port, path, { headers: browser })).toMatchObject({ status: 302, headers: { location } })
  // A program with a wrong base address must not mistake the page for an answer.
  for (const headers of [
    { accept: '*/*' },
    { accept: 'application/json' },
    { ...browser, authorization: 'Bearer x' },
  ]) {
    expect(await ask(web.port, '/sessions', { headers })).toMatchObject({ status: 404 })
  }
  expect((await ask(web.port, '/assets/none.js')).status).toBe(404)
  const etag = page.headers.etag ?? ''
  expect((await ask(web.port, '/', { headers: { 'if-none-match': etag } })).status).toBe(304)
})

test('a browser gets the compressed copy that it accepts, and never a copy of an earlier build', async () => {
  const { web, consoleDir } = await setUp()
  const [file, old] = [join(consoleDir, 'assets', 'main-abc123.js'), new Date(2020, 1, 1)]
  for (const suffix of ['.br', '.gz']) await writeFile(file + suffix, `as ${suffix}`)
  const get = async (accepted: string) => {
    const { headers, body } = await ask(web.port, '/assets/main-abc123.js', {
      headers: { 'accept-encoding': accepted },
    })
    expect(headers).toMatchObject({ vary: 'Accept-Encoding', 'content-type': 'text/javascript; charset=utf-8' })
    return { coding: headers['content-encoding'], body, etag: headers.etag }
  }
  const answers = [await get('gzip, deflate, br'), await get('br;q=0, GZIP;q=0.5'), await get('identity')]
  expect(answers.map(({ coding }) => coding)).toEqual(['br', 'gzip', undefined])
  expect(answers.map(({ body }) => body)).toEqual(['as .br', 'as .gz', 'export {}'])
  expect(new Set(answers.map(({ etag }) => etag)).size).toBe(3)
  const known = { 'accept-encoding': 'br', 'if-none-match': `"other", W/${answers[0]?.etag ?? ''}` }
  expect((await ask(web.port, '/assets/main-abc123.js', { headers: known })).status).toBe(304)
  await utimes(`${file}.br`, old, old)
  expect((await get('br')).coding).toBeUndefined()
  await writeFile(file, 'export { changed }')
  expect((await get('identity')).body).toBe('export { changed }')
})

test.each(['bytes=0-3', 'bytes=-3', 'bytes=5-2', 'bytes=99-', 'lines=1'])(
  'a request for the range %s gets the whole file',
  async range => {
    const { web } = await setUp()
    const { status, body } = await ask(web.port, '/assets/main-abc123.js', { headers: { range } })
    expect({ status, body }).toEqual({ status: 200, body: 'export {}' })
  },
)

test('HEAD returns the headers of a file without its bytes, and a deleted file is not found', async () => {
  const { web, consoleDir } = await setUp()
  const path = '/assets/main-abc123.js'
  const { date: _, ...of } = (await ask(web.port, path)).headers
  const head = await ask(web.port, path, { method: 'HEAD' })
  expect(head.headers).toMatchObject(of)
  expect(head.body).toBe('')
  await rm(join(consoleDir, 'assets', 'main-abc123.js'))
  expect((await ask(web.port, path)).status).toBe(404)
  expect((await ask(web.port, '/')).status).toBe(200)
})

test.each(['/metrics', '/mcp', '/api', '/api-docs', '/manager/x', '/hosts', '/host', '/healthz/x', '/agents'])(
  'the address %s, which belongs to programs, never gets the page',
  async path => {
    const { web } = await setUp({ managerUrl: 'http://127.0.0.1:9' })
    const { status, headers, body } = await ask(web.port, path)
    expect([404, 503]).toContain(status)
    expect(headers['content-type']).toBe('application/problem+json')
    expect(JSON.parse(body)).toMatchObject({ status })
  },
)

test.each([
  '/../secret.txt',
  '/%2e%2e/secret.txt',
  '/..%2fsecret.txt',
  '/assets/..%5c..%5csecret.txt',
  '/%00',
  '//etc/passwd',
])('the path %s does not leave the folder of the page', async path => {
  const { web } = await setUp()
  const { body } = await ask(web.port, path)
  expect(body).not.toContain('secret')
  expect(body).not.toContain('root:')
})

test('without a build, a page says what to do', async () => {
  const { web } = await setUp({ consoleDir: '/nowhere/at/all' })
  const { status, body } = await ask(web.port, '/')
  expect(status).toBe(503)
  expect(body).toContain('npm run build')
})

test('unknown host names are refused and allowed ones accepted, whatever the path', async () => {
  const { web } = await setUp()
  for (const path of ['/', '/api/v1/echo', '/host/tunnel/list', '/healthz']) {
    const answer = await ask(web.port, path, { headers: { host: `evil.example:${web.port}` } })
    expect(answer.status).toBe(403)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'foreign_origin' })
  }
  for (const host of [`127.0.0.1:${web.port}`, `[::1]:${web.port}`, 'berth.example.org']) {
    expect((await ask(web.port, '/', { headers: { host } })).status).toBe(200)
  }
})

test('a change requires the Origin of the console', async () => {
  const { web } = await setUp()
  const post = (origin?: string) => ask(web.port, '/api/v1/echo', { method: 'POST', headers: defined({ origin }) })
  for (const origin of [
    'http://evil.example',
    'null',
    `http://127.0.0.1:${web.port}`,
    `http://localhost:${web.port + 1}`,
  ]) {
    expect((await post(origin)).status).toBe(403)
  }
  expect((await post(`http://localhost:${web.port}`)).status).toBe(200)
  expect((await post()).status).toBe(200)
})

test('a request reaches the manager with its own Host and Origin, and with the name that the browser used', async () => {
  const { web, manager, host } = await setUp()
  const headers = {
    origin: `http://${host}`,
    cookie: `a=b; ${signInCookie(8400)}; berth_8400=of-somebody-else; berth_app_8401=c`,
    'x-forwarded-host': 'evil.example',
    'x-forwarded-for': '9.9.9.9',
  }
  const answer = await ask(web.port, '/api/v1/echo', { method: 'POST', headers, body: 'x'.repeat(100_000) })
  const seen = JSON.parse(answer.body) as { body: string; headers: Record<string, string> }
  expect(seen.body).toHaveLength(100_000)
  expect(seen.headers).toMatchObject({
    host: new URL(manager.url).host,
    origin: manager.url,
    'x-forwarded-host': host,
    'x-forwarded-for': '127.0.0.1',
    // The console ignores cookies of other programs at this host name.
    cookie: signInCookie(8400),
  })
})

test("a request that the manager refuses before its end gets the manager's answer, not a broken connection", async () => {
  await using manager = await startTestManager()
  const { web } = await setUp({ managerUrl: manager.url })
  const headers = { 'content-type': 'application/json' }
  for (let time = 0; time < 10; time++) {
    const answer = await ask(web.port, '/api/v1/auth/login', { method: 'POST', headers, body: ' '.repeat(10_000_000) })
    expect({ status: answer.status, ...JSON.parse(answer.body) }).toMatchObject({ status: 413, code: 'body_too_large' })
  }
})

test('a client that still sends ten megabytes after the refusal gets the answer', async () => {
  const context = await setUp()
  const { web, manager } = context
  const body = ' '.repeat(10_000_000)
  const host = () => ask(web.port, '/host/tunnel/list', { method: 'POST', headers: signedIn(manager, web.port), body })
  for (let time = 0; time < 5; time++) {
    const answer = await host()
    expect({ status: answer.status, ...JSON.parse(answer.body) }).toMatchObject({ status: 413, code: 'body_too_large' })
  }
  await manager.stop()
  for (let time = 0; time < 5; time++) {
    const answer = await ask(web.port, '/api/v1/echo', { method: 'POST', body })
    expect({ status: answer.status, ...JSON.parse(answer.body) }).toMatchObject({ status: 503, code: 'unavailable' })
  }
})

test("behind a trusted TLS reverse proxy the manager learns the client's address and https", async () => {
  const { web } = await setUp({ trustedProxies: ['127.0.0.1'] })
  const relayed = { 'x-forwarded-for': '6.6.6.6, 192.0.2.1', 'x-forwarded-proto': 'https' }
  const { body } = await ask(web.port, '/api/v1/echo', { headers: relayed })
  const { headers } = JSON.parse(body) as { headers: Record<string, string> }
  expect(headers).toMatchObject({ 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' })
})

test('events of the manager are not buffered', async () => {
  const { web, manager, host } = await setUp()
  const sent = httpRequest({
    host: '127.0.0.1',
    port: web.port,
    path: '/api/v1/events',
    headers: { host },
    agent: false,
  }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const first = once(response, 'data')
  manager.hint()
  expect(String((await first)[0])).toContain('event: hint')
  sent.destroy()
  await expect.poll(() => manager.eventStreams).toBe(0)
})

test('a WebSocket reaches the manager; from a foreign origin, or to an unknown path, it is refused', async () => {
  const far = createServer()
  new WebSocketServer({ server: far }).on('connection', (socket, request) => {
    socket.send(JSON.stringify(request.headers))
  })
  far.listen(0, '127.0.0.1')
  await once(far, 'listening')
  stack.defer(() => {
    far.closeAllConnections()
    far.close()
  })
  const managerUrl = `http://127.0.0.1:${(far.address() as AddressInfo).port}`
  const { web, host } = await setUp({ managerUrl })
  const open = (path: string, origin: string) =>
    new WebSocket(`ws://127.0.0.1:${web.port}${path}`, { headers: { host }, origin })
  const socket = open('/stream/session/x/tcpproxy?app=y', `http://${host}`)
  const [message] = (await once(socket, 'message')) as [Buffer]
  expect(JSON.parse(message.toString())).toMatchObject({ origin: managerUrl, 'x-forwarded-host': host })
  socket.terminate()
  const [foreign] = (await once(open('/stream/x', 'http://evil.example'), 'error')) as [Error]
  expect(foreign.message).toContain('403')
  const [nowhere] = (await once(open('/nowhere', `http://${host}`), 'error')) as [Error]
  expect(nowhere.message).toContain('404')
})

test('while the manager is down, requests fail at once with a code; they work when it is back', async () => {
  const { web, manager } = await setUp()
  await manager.stop()
  const answer = await ask(web.port, '/api/v1/echo')
  expect(answer.status).toBe(503)
  expect(answer.headers['content-type']).toBe('application/problem+json')
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'unavailable', retry: true })
  await manager.start()
  expect((await ask(web.port, '/api/v1/echo')).status).toBe(200)
})

test('a reverse proxy that changes the Host field is reported as such', async () => {
  const { web } = await setUp()
  const headers = { origin: 'https://berth.example.org', 'sec-fetch-site': 'same-origin' }
  const answer = await ask(web.port, '/api/v1/echo', { method: 'POST', headers })
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'foreign_origin', detail: /changes the Host field/ })
})

test('a raw address is refused with what to do', async () => {
  const { web, host } = await setUp()
  expect(await rawBytes(`http://127.0.0.1:${web.port}`, `GET /한글 HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 400 [^]*"code":"bad_request"[^]*percent-encoded/,
  )
})

test('the console stops at once although clients keep idle and upgraded connections', async () => {
  const far = createServer()
  new WebSocketServer({ server: far }).on('connection', socket => {
    socket.send('hello')
  })
  far.listen(0, '127.0.0.1')
  await once(far, 'listening')
  stack.defer(() => {
    far.closeAllConnections()
    far.close()
  })
  const { web, host } = await setUp({ managerUrl: `http://127.0.0.1:${(far.address() as AddressInfo).port}` })
  const idle = connect({ port: web.port, host: '::1' })
  idle.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  await once(idle, 'data')
  const socket = new WebSocket(`ws://127.0.0.1:${web.port}/stream/x`, { headers: { host } })
  await once(socket, 'message')
  const closed = [once(idle, 'close'), once(socket, 'close')]
  await web[Symbol.asyncDispose]()
  await Promise.all(closed)
})

test('an answer that the client no longer waits for is cut at the manager too', async () => {
  let isCut = false
  const far = createServer((_, response: ServerResponse) => {
    response.write('start')
    response.on('close', () => (isCut = true))
  }).listen(0, '127.0.0.1')
  await once(far, 'listening')
  stack.defer(() => {
    far.closeAllConnections()
    far.close()
  })
  const { web, host } = await setUp({ managerUrl: `http://127.0.0.1:${(far.address() as AddressInfo).port}` })
  const sent = httpRequest({
    host: '127.0.0.1',
    port: web.port,
    path: '/api/v1/x',
    headers: { host },
    agent: false,
  }).end()
  await once(sent, 'response')
  sent.destroy()
  await expect.poll(() => isCut).toBe(true)
})
