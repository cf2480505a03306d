import { once } from 'node:events'
import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type HostApi, type Reply } from '#proxy/contract'
import { type Tunnel } from '#proxy/contract'
import { startWeb } from '../../../proxy/web/server.ts'
import { startTestManager } from '../../fixtures/manager.ts'
import { StandIn, tcpApp } from '../../fixtures/proxy-stand-in.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

interface SetUp {
  readonly managerUrl?: string
  readonly consoleDir?: string
  readonly trustedProxies?: string[]
  readonly localProof?: 'required' | 'off'
}

async function setUp(options: SetUp = {}) {
  const service = createTcpServer(socket => void socket.pipe(socket)).listen(0, '127.0.0.1')
  await once(service, 'listening')
  stack.defer(() => void service.close())
  const { port } = service.address() as AddressInfo
  const manager = stack.use(await new StandIn([{ app: tcpApp('echo'), port }]).start())
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-web-'))
  stack.defer(() => rm(directory, { recursive: true }))
  const consoleDir = join(directory, 'renderer')
  await mkdir(join(consoleDir, 'assets'), { recursive: true })
  await writeFile(join(consoleDir, 'index.html'), '<!doctype html><title>Berth</title>')
  await writeFile(join(consoleDir, 'assets', 'main-abc123.js'), 'export {}')
  await writeFile(join(directory, 'secret.txt'), 'secret')
  const config = { dataDir: directory, port: 0, managerUrl: manager.url, allowedHosts: ['berth.example.org'] }
  const more = {
    consoleDir,
    version: '1.2.3',
    sshDirectory: join(directory, '.ssh'),
    localProof: 'off' as const,
    ...options,
  }
  const web = stack.use(await startWeb({ ...config, ...more }, pino({ level: 'silent' })))
  return { manager, web, consoleDir, host: `localhost:${web.port}` }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

async function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const sent = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    headers: { host: `localhost:${port}`, ...headers },
    agent: false,
  })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  // The server may hang up on an upload that it has already answered; the answer is what counts.
  sent.on('error', () => undefined)
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

const signedIn = (manager: StandIn, port: number) => ({
  cookie: `other=1; berth_${port}=sign-in`,
  'x-berth-origin-secret': manager.originSecret,
  'content-type': 'application/json',
  origin: `http://localhost:${port}`,
})

async function call<G extends keyof HostApi>(
  { manager, web }: { manager: StandIn; web: { port: number } },
  group: G,
  method: keyof HostApi[G] & string,
  ...args: unknown[]
): Promise<Reply<unknown>> {
  const headers = signedIn(manager, web.port)
  const answer = await ask(web.port, `/host/${group}/${method}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(args),
  })
  return JSON.parse(answer.body) as Reply<unknown>
}

test('the page has a strict policy, hashed files are cached for ever, and unknown routes get the page', async () => {
  const { web } = await setUp()
  const page = await ask(web.port, '/')
  expect(page.status).toBe(200)
  expect(page.headers['content-security-policy']).toContain("script-src 'self';")
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
  expect(page.headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache' })
  const asset = await ask(web.port, '/assets/main-abc123.js')
  expect(asset.headers['cache-control']).toContain('immutable')
  expect((await ask(web.port, '/sessions/42')).body).toBe(page.body)
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

test.each(['/metrics', '/api', '/api-docs', '/manager/x', '/hosts', '/host', '/healthz/x', '/agents'])(
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
  const post = (origin?: string) =>
    ask(web.port, '/api/v1/echo', { method: 'POST', headers: origin === undefined ? {} : { origin } })
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
    cookie: 'a=b; berth_8400=of-a-sign-in; berth_app_8401=c',
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
    cookie: 'berth_8400=of-a-sign-in',
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

test('a signed-in browser on this computer opens, lists and closes tunnels, and gets their events', async () => {
  const context = await setUp()
  const { web, manager, host } = context
  expect(await call(context, 'host', 'info')).toMatchObject({ ok: true, value: { kind: 'local', version: '1.2.3' } })
  const headers = { ...signedIn(manager, web.port), host }
  const events = httpRequest({ host: '127.0.0.1', port: web.port, path: '/host/events', headers, agent: false }).end()
  const [stream] = (await once(events, 'response')) as [IncomingMessage]
  stack.defer(() => void events.destroy())
  let heard = ''
  stream.on('data', (chunk: Buffer) => (heard += chunk.toString()))
  const opened = await call(context, 'tunnel', 'open', { sessionId: manager.session.id, app: 'echo' })
  expect(opened.ok).toBe(true)
  const tunnel = (opened as { value: Tunnel }).value
  await expect.poll(() => heard).toContain('event: tunnel:changed')
  expect(await call(context, 'tunnel', 'list')).toMatchObject({ ok: true, value: [{ id: tunnel.id }] })
  expect(await call(context, 'tunnel', 'close', tunnel.id)).toEqual({ ok: true, value: null })
  await expect.poll(() => heard).toContain('event: tunnel:closed')
})

test('a browser on another computer, behind a reverse proxy here, gets no listeners', async () => {
  const { web, manager } = await setUp()
  const headers = { ...signedIn(manager, web.port), 'x-forwarded-for': '192.0.2.1' }
  const post = async (path: string, args: unknown[]) =>
    JSON.parse((await ask(web.port, path, { method: 'POST', headers, body: JSON.stringify(args) })).body) as unknown
  expect(await post('/host/host/info', [])).toMatchObject({ value: { kind: 'remote' } })
  const spec = { sessionId: manager.session.id, app: 'echo' }
  expect(await post('/host/tunnel/open', [spec])).toMatchObject({ ok: false, error: { code: 'forbidden' } })
  expect(await post('/host/ssh/connect', [spec])).toMatchObject({ ok: false, error: { code: 'forbidden' } })
})

test('a browser that is signed in at localhost opens nothing here before it has proven to be on this computer', async () => {
  const { web, manager } = await setUp({ localProof: 'required' })
  const spec = { sessionId: manager.session.id, app: 'echo' }
  const post = async (path: string, args: unknown[], more: Record<string, string> = {}) => {
    const headers = { ...signedIn(manager, web.port), ...more }
    return JSON.parse((await ask(web.port, path, { method: 'POST', headers, body: JSON.stringify(args) })).body) as {
      value?: unknown
    }
  }
  expect(await post('/host/host/info', [])).toMatchObject({ value: { kind: 'remote', isUnproven: true } })
  const refused = await post('/host/tunnel/open', [spec])
  expect(refused).toMatchObject({ ok: false, error: { code: 'forbidden', detail: { why: /Run "berth up"/ } } })

  expect(await post('/host/local-proof', ['made.up'])).toEqual({ ok: true, value: null })
  const { value: proof } = await post('/host/local-proof', [web.createLocalCode()])
  const proven = { 'x-berth-local': String(proof) }
  expect(await post('/host/host/info', [], proven)).toMatchObject({ value: { kind: 'local', isUnproven: false } })
  expect(await post('/host/tunnel/open', [spec], proven)).toMatchObject({ ok: true })

  // A reverse proxy that says nothing of its client, with the proof of somebody else's browser in hand or not.
  for (const relayed of [{ host: 'berth.example.org', origin: 'http://berth.example.org' }, { via: '1.1 lb' }]) {
    expect(await post('/host/tunnel/open', [spec], { ...proven, ...relayed })).toMatchObject({
      error: { code: 'forbidden', detail: { why: /another computer/ } },
    })
    expect(await post('/host/local-proof', [web.createLocalCode()], relayed)).toEqual({ ok: true, value: null })
  }
})

test('a reverse proxy that changes the Host field is reported as such', async () => {
  const { web } = await setUp()
  const headers = { origin: 'https://berth.example.org', 'sec-fetch-site': 'same-origin' }
  const answer = await ask(web.port, '/api/v1/echo', { method: 'POST', headers })
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'foreign_origin', detail: /changes the Host field/ })
})

test('failures of a host method keep their code', async () => {
  const context = await setUp()
  const unknown = await call(context, 'tunnel', 'open', { sessionId: context.manager.session.id, app: 'none' })
  expect(unknown).toMatchObject({ ok: false, error: { code: 'app_not_found' } })
  const terminal = await call(context, 'terminal', 'close', 'x')
  expect(terminal).toMatchObject({ ok: false, error: { code: 'bad_request' } })
})

test('host methods and events need both halves of a sign-in, and methods need JSON with valid arguments', async () => {
  const { web, manager } = await setUp()
  const good = signedIn(manager, web.port)
  const post = async (headers: Record<string, string>, body = '[]', path = '/host/tunnel/list') =>
    JSON.parse((await ask(web.port, path, { method: 'POST', headers, body })).body) as { code: string }
  expect(await post({ ...good, cookie: 'other=1' })).toMatchObject({ code: 'not_signed_in' })
  expect(await post({ ...good, 'x-berth-origin-secret': 'wrong' })).toMatchObject({ code: 'not_signed_in' })
  const { 'x-berth-origin-secret': _secret, ...cookieOnly } = good
  expect(await post(cookieOnly)).toMatchObject({ code: 'not_signed_in' })
  expect((await ask(web.port, '/host/events', { headers: cookieOnly })).status).toBe(401)
  expect(await post({ ...good, 'content-type': 'text/plain' })).toMatchObject({ code: 'bad_request' })
  expect(await post(good, '[1]')).toMatchObject({ code: 'bad_request' })
  expect(await post(good, '{')).toMatchObject({ code: 'bad_request' })
  expect(await post(good, `["${'x'.repeat(70_000)}"]`)).toMatchObject({ code: 'body_too_large' })
  expect(await post(good, '[]', '/host/tunnel/__proto__')).toMatchObject({ code: 'not_found' })
})

test('cookies of other programs do not reach the manager with a host method', async () => {
  const context = await setUp()
  await call(context, 'tunnel', 'list')
  const asked = context.manager.seen.find(({ url }) => url === '/api/v1/me')
  expect(asked?.headers.cookie).toBe(`berth_${context.web.port}=sign-in`)
})

test('a cookie that another port planted for some paths keeps nothing open after signing out', async () => {
  const context = await setUp()
  const { web, manager } = context
  await call(context, 'tunnel', 'open', { sessionId: manager.session.id, app: 'echo' })
  await expect.poll(() => manager.eventStreams).toBe(1)
  const headers = signedIn(manager, web.port)
  const planted = { ...headers, cookie: `berth_${web.port}=planted; ${headers.cookie}` }
  expect((await ask(web.port, '/api/v1/auth/logout', { method: 'POST', headers: planted })).status).toBe(204)
  await expect.poll(() => manager.eventStreams).toBe(0)
})

test.each(['', '?then=home'])('signing out%s closes the tunnels of that user', async query => {
  const context = await setUp()
  const { web, manager } = context
  await call(context, 'tunnel', 'open', { sessionId: manager.session.id, app: 'echo' })
  await expect.poll(() => manager.eventStreams).toBe(1)
  const headers = signedIn(manager, web.port)
  expect((await ask(web.port, `/api/v1/auth/logout${query}`, { method: 'POST', headers })).status).toBe(204)
  await expect.poll(() => manager.eventStreams).toBe(0)
  expect(await call(context, 'tunnel', 'list')).toEqual({ ok: true, value: [] })
})

test('background work continues with the remaining sign-ins', async () => {
  const { web, manager } = await setUp()
  const as = async (name: string, method: string, ...args: unknown[]) =>
    await ask(web.port, `/host/tunnel/${method}`, {
      method: 'POST',
      headers: { ...signedIn(manager, web.port), cookie: `berth_${web.port}=${name}` },
      body: JSON.stringify(args),
    })
  await as('first', 'open', { sessionId: manager.session.id, app: 'echo' })
  await as('second', 'list')
  manager.ended = 'second'
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
  stack.defer(() => void vi.restoreAllMocks())
  expect((await as('second', 'list')).status).toBe(401)
  await manager.stop()
  manager.seen.length = 0
  await manager.start()
  await expect
    .poll(() => manager.seen.find(({ url }) => url === '/api/v1/events')?.headers.cookie, { timeout: 10_000 })
    .toBe(`berth_${web.port}=first`)
})

test.each([
  ['signing out', 'logout'],
  ['the answer of the manager that the sign-in is over', 'over'],
])('%s ends the event streams of that sign-in', async (_, how) => {
  const context = await setUp()
  const { web, manager, host } = context
  const headers = { ...signedIn(manager, web.port), host }
  const events = httpRequest({ host: '127.0.0.1', port: web.port, path: '/host/events', headers, agent: false }).end()
  const [stream] = (await once(events, 'response')) as [IncomingMessage]
  stack.defer(() => void events.destroy())
  const ended = once(stream.resume(), 'end')
  if (how === 'logout') {
    await ask(web.port, '/api/v1/auth/logout', { method: 'POST', headers: signedIn(manager, web.port) })
  } else {
    manager.isSignedIn = false
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
    stack.defer(() => void vi.restoreAllMocks())
    expect((await ask(web.port, '/host/events', { headers })).status).toBe(401)
  }
  await ended
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
