import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterEach, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { type Proxy, type ProxyOptions, startProxy } from '#proxy'
import { type TunnelSpec } from '#proxy/contract'
import { createAuthority } from '../../fixtures/authority.ts'
import { httpApp, StandIn, tcpApp } from '../../fixtures/proxy-stand-in.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

type Handler = (request: IncomingMessage, response: ServerResponse) => void

/** An app that answers with the received request, unless a handler is given. */
async function anApp(handler: Handler = reflect) {
  const server = createServer(handler)
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, request) => {
    socket.send(JSON.stringify(request.headers))
    socket.on('message', (data, isBinary) => {
      socket.send(data, { binary: isBinary })
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
    sockets.close()
  })
  return (server.address() as AddressInfo).port
}

const reflect: Handler = (request, response) => {
  void text(request).then(body => {
    response.setHeader('Set-Cookie', ['a=1', 'b=2'])
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
  })
}

const inject = { header: 'Authorization', value: 'token secret-of-the-app' }

async function setUp(handler?: Handler, more: Pick<ProxyOptions, 'ownUserOnly' | 'sharedComputer'> = {}) {
  const entry = { app: httpApp('jupyter', '/lab'), port: await anApp(handler), inject }
  const manager = stack.use(await new StandIn([entry]).start())
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-test-origin-'))
  stack.defer(() => rm(dataDir, { recursive: true }))
  const options = { managerUrl: manager.url, credentials: manager.credentials, dataDir, userId: manager.userId }
  const start = () => startProxy({ ...options, ...more, sshDirectory: join(dataDir, '.ssh') })
  const proxy = stack.use(await start())
  const spec = { sessionId: manager.session.id, app: 'jupyter' }
  return { manager, proxy, spec, start, dataDir: join(dataDir, 'proxy', manager.userId) }
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Like a browser, but with 127.0.0.1 instead of resolving `*.localhost`. */
async function get(
  url: string,
  headers: Record<string, string> = {},
  options: { method?: string; body?: string } = {},
): Promise<Answer> {
  const { hostname, port, pathname, search } = new URL(url)
  const sent = httpRequest({
    host: '127.0.0.1',
    port,
    method: options.method ?? 'GET',
    path: pathname + search,
    headers: { host: `${hostname}:${port}`, ...headers },
    agent: false,
  })
  sent.end(options.body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

async function letIn(url: string) {
  const welcome = await get(url)
  return { welcome, cookie: welcome.headers['set-cookie']?.[0]?.split(';')[0] ?? '', origin: new URL(url).origin }
}

test('the first visit exchanges its ticket for a cookie and redirects to the page of the app', async () => {
  const { proxy, spec } = await setUp()
  const { url, tunnel } = await proxy.tunnel.openApp(spec)
  expect(new URL(url).host).toMatch(new RegExp(`^jupyter--[a-z2-7]{12}\\.localhost:${tunnel.port}$`))
  const { welcome } = await letIn(url)
  expect(welcome.status).toBe(303)
  expect(welcome.headers).toMatchObject({
    location: '/lab',
    'referrer-policy': 'no-referrer',
    'clear-site-data': '"cache", "storage"',
  })
  const [cookie] = welcome.headers['set-cookie'] ?? []
  expect(cookie).toMatch(new RegExp(`^berth_app_${tunnel.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Lax$`))
})

test('the app gets the request with its own Host and secret, without our cookie and without a forged secret', async () => {
  const { proxy, spec } = await setUp()
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const headers = { cookie: `x=1; ${cookie}; y=2`, authorization: 'token forged', origin, 'x-forwarded-for': 'kept' }
  const answer = await get(`${origin}/api/contents?a=b%20c`, headers, { method: 'POST', body: 'hello' })
  expect(answer.status).toBe(200)
  expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2'])
  const seen = JSON.parse(answer.body) as { headers: Record<string, string>; [key: string]: unknown }
  expect(seen).toMatchObject({ method: 'POST', url: '/api/contents?a=b%20c', body: 'hello' })
  expect(seen.headers).toMatchObject({ host: new URL(origin).host, cookie: 'x=1; y=2', authorization: inject.value })
})

test('an app that takes localhost only is named so, once it has refused its name', async () => {
  const { proxy, spec } = await setUp((request, response) => {
    const { host, origin = 'http://localhost' } = request.headers
    if (host !== 'localhost' || origin !== 'http://localhost') response.writeHead(403).end('Invalid Host header')
    else if (request.url === '/moved') response.writeHead(302, { location: 'http://localhost/lab?a=b' }).end()
    else reflect(request, response)
  })
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const page = { cookie, accept: 'text/html,*/*' }
  expect(await get(`${origin}/lab`, { cookie })).toMatchObject({ status: 403 })
  expect(await get(`${origin}/lab`, page)).toMatchObject({ status: 403, headers: { refresh: '0' } })
  const answer = await get(`${origin}/lab`, page)
  expect(answer.status).toBe(200)
  const seen = JSON.parse(answer.body) as { headers: Record<string, string> }
  expect(seen.headers).toMatchObject({ host: 'localhost', 'x-forwarded-host': new URL(origin).host })
  const posted = { cookie, origin, referer: `${origin}/lab` }
  const post = await get(`${origin}/api`, posted, { method: 'POST', body: 'x' })
  expect((JSON.parse(post.body) as { headers: object }).headers).toMatchObject({ referer: 'http://localhost/lab' })
  expect((await get(`${origin}/moved`, page)).headers.location).toBe(`${origin}/lab?a=b`)
  expect((await get(`${origin}/lab`, { ...page, origin: 'http://evil.example.org' })).status).toBe(403)
})

test('an app that refuses pages for another reason keeps its name, and is asked again once', async () => {
  const hosts: unknown[] = []
  const { proxy, spec } = await setUp(({ headers }, response) => {
    hosts.push(headers.host)
    response.writeHead(403).end('no')
  })
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const answers: unknown[] = []
  for (let index = 0; index < 4; index++)
    answers.push((await get(`${origin}/`, { cookie, accept: 'text/html' })).headers.refresh)
  expect(answers).toEqual(['0', undefined, undefined, undefined])
  const { host } = new URL(origin)
  expect(hosts).toEqual([host, 'localhost', host, host])
})

test('storage is cleared once per session and origin, not on every visit, nor after a restart of the proxy', async () => {
  const { proxy, spec, start } = await setUp(reflect, { sharedComputer: false })
  const visits = [
    await letIn((await proxy.tunnel.openApp(spec)).url),
    await letIn((await proxy.tunnel.openApp(spec)).url),
  ]
  await proxy[Symbol.asyncDispose]()
  const again = stack.use(await start())
  visits.push(await letIn((await again.tunnel.openApp(spec)).url))
  expect(visits.map(({ welcome }) => welcome.headers['clear-site-data'] !== undefined)).toEqual([true, false, false])
})

test('on a computer with other people a web app has another address each time, also in another process', async () => {
  const { proxy, spec, start, dataDir } = await setUp(reflect, { sharedComputer: true })
  const hosts = new Set<string>()
  const seen = async ({ tunnel }: Proxy, more: Partial<TunnelSpec> = {}) => {
    const before = await readFile(join(dataDir, 'ports.json'), 'utf8').catch(() => '')
    const { url, tunnel: opened } = await tunnel.openApp({ ...spec, ...more })
    expect(before).not.toContain(String(opened.port))
    hosts.add(new URL(url).hostname)
    await tunnel.close(opened.id)
    return opened.port
  }
  const ports = [await seen(proxy), await seen(proxy)]
  await proxy[Symbol.asyncDispose]()
  const again = stack.use(await start())
  ports.push(await seen(again), await seen(again, { port: ports[0], onPortTaken: 'random' }))
  expect([new Set(ports).size, hosts.size]).toEqual([4, 4])
})

test('on a computer with other people a port that the person insists on is honoured, at the name that lasts', async () => {
  const { proxy, spec } = await setUp(reflect, { sharedComputer: true })
  const { port, id } = (await proxy.tunnel.openApp(spec)).tunnel
  await proxy.tunnel.close(id)
  const hosts = []
  for (let time = 0; time < 2; time++) {
    const { url, tunnel } = await proxy.tunnel.openApp({ ...spec, port })
    await proxy.tunnel.close(tunnel.id)
    hosts.push(new URL(url).host)
  }
  expect(hosts).toEqual([hosts[0], hosts[0]])
  expect(hosts[0]).toMatch(new RegExp(`:${port}$`))
})

test('a used ticket, a forged ticket and a ticket of another session are refused', async () => {
  const { proxy, spec } = await setUp()
  const other = await setUp()
  const { url } = await proxy.tunnel.openApp(spec)
  const foreign = new URL((await other.proxy.tunnel.openApp(other.spec)).url).searchParams.get('ticket') ?? ''
  const base = url.split('?')[0] ?? ''
  expect((await get(url)).status).toBe(303)
  const bad = [url, `${base}?ticket=${'A'.repeat(43)}`, `${base}?ticket=${foreign}`, `${base}?ticket=`, base]
  for (const attempt of bad) expect((await get(attempt)).status).toBe(403)
})

test('unauthorized requests are refused before anything is dialled', async () => {
  const { proxy, spec, manager } = await setUp()
  const { url } = await proxy.tunnel.openApp(spec)
  const { cookie, origin } = await letIn(url)
  const { port } = new URL(origin)
  const accept = 'text/html,*/*'
  const refusals = [
    await get(`${origin}/`, { accept }),
    await get(`${origin}/`, { accept, cookie: cookie.slice(0, -1) }),
    await get(`${origin}/`, { accept, cookie, host: `localhost:${port}` }),
    await get(`${origin}/`, { accept, cookie, host: `127.0.0.1:${port}` }),
    await get(`${origin}/`, { accept, cookie, host: 'evil.example' }),
    await get(`${origin}/`, { accept, cookie, origin: 'http://evil.example' }),
    await get(`${origin}/`, { accept, cookie, origin: 'null' }),
    await get(`${origin}/`, { accept, cookie, origin: `http://localhost:${port}` }),
  ]
  expect(refusals.map(({ status }) => status)).toEqual(refusals.map(() => 403))
  for (const { headers, body } of refusals) {
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(body).toContain('<h1>')
    expect(body).not.toContain('secret')
  }
  const program = await get(`${origin}/api/contents`, { accept: 'application/json' })
  expect(program).toMatchObject({ status: 403, headers: { 'content-type': 'application/problem+json' } })
  expect(JSON.parse(program.body)).toMatchObject({
    code: 'forbidden',
    status: 403,
    detail: expect.stringContaining('berth app SESSION tcp-PORT') as string,
    data: { reason: 'no_cookie' },
  })
  const foreign = await get(`${origin}/`, { cookie, origin: 'http://evil.example' })
  expect(JSON.parse(foreign.body)).toMatchObject({ code: 'foreign_origin', data: { reason: 'foreign_origin' } })
  expect(manager.dials).toBe(0)
})

test('a request that cannot be read is told why, in the form that its sender reads', async () => {
  const { proxy, spec, manager } = await setUp()
  const { origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const send = async (line: string, field = '') => {
    const socket = connect({ port: Number(new URL(origin).port), host: '127.0.0.1' })
    socket.write(`${line} HTTP/1.1\r\nHost: ${new URL(origin).host}\r\n${field}Connection: close\r\n\r\n`)
    return await text(socket)
  }
  expect(await send('GET /한글?q=é')).toMatch(/^HTTP\/1\.1 400 [^]*problem\+json[^]*percent-encoded[^]*"raw_address"/)
  expect(await send('GET /한글', 'Accept: text/html\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*text\/html[^]*<h1>The address/)
  expect(await send('GET /', 'A field without a colon\r\n')).toMatch(/^HTTP\/1\.1 400 [^]*"unreadable"/)
  expect(await send('GET /', `X: ${'x'.repeat(70_000)}\r\n`)).toMatch(/^HTTP\/1\.1 431 [^]*"status":431/)
  expect(manager.dials).toBe(0)
})

test('an absolute request target cannot smuggle in another host', async () => {
  const { proxy, spec, manager } = await setUp()
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const socket = connect({ port: Number(new URL(origin).port), host: '127.0.0.1' })
  socket.end(
    `GET http://evil.example/ HTTP/1.1\r\nHost: ${new URL(origin).host}\r\nCookie: ${cookie}\r\nConnection: close\r\n\r\n`,
  )
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /)
  expect(manager.dials).toBe(0)
})

test('a WebSocket with cookie and own origin passes in both directions, and the app does not see the cookie', async () => {
  const { proxy, spec } = await setUp()
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const { host, port } = new URL(origin)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/kernels`, { headers: { host, cookie, origin } })
  stack.defer(() => {
    socket.terminate()
  })
  const [first] = (await once(socket, 'message')) as [Buffer]
  expect(JSON.parse(first.toString())).toMatchObject({ host, authorization: inject.value })
  expect(first.toString()).not.toContain('berth_app_')
  const big = Buffer.alloc(3 * 1024 * 1024, 7)
  socket.send(big)
  const [back] = (await once(socket, 'message')) as [Buffer]
  expect(back.equals(big)).toBe(true)
})

test.each([
  ['from a foreign origin', { origin: 'http://evil.example' }],
  ['without the cookie', { cookie: '' }],
  ['under another host name', { host: 'evil.example' }],
])('a WebSocket upgrade %s is refused before anything is dialled', async (_, wrong) => {
  const { proxy, spec, manager } = await setUp()
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const { host, port } = new URL(origin)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/kernels`, { headers: { host, cookie, origin, ...wrong } })
  const [error] = (await once(socket, 'error')) as [Error]
  expect(error.message).toContain('403')
  expect(manager.dials).toBe(0)
})

test('requests share pooled tunnels, and a tunnel that the app closed meanwhile is replaced unnoticed', async () => {
  const { proxy, spec, manager } = await setUp()
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  for (let i = 0; i < 5; i++) expect((await get(`${origin}/${i}`, { cookie })).status).toBe(200)
  expect(manager.dials).toBe(1)
  for (const tunnel of manager.tunnels) tunnel.close('service_ended')
  expect((await get(`${origin}/after`, { cookie })).status).toBe(200)
  expect(manager.dials).toBe(2)
})

test('an answer is streamed, and its abort reaches the browser as an abort', async () => {
  let cut: () => void = () => undefined
  const { proxy, spec } = await setUp((_, response) => {
    response.write('first')
    cut = () => response.destroy()
  })
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const { host, port } = new URL(origin)
  const sent = httpRequest({ host: '127.0.0.1', port, headers: { host, cookie }, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const [chunk] = (await once(response, 'data')) as [Buffer]
  expect(chunk.toString()).toBe('first')
  const broken = once(response, 'error')
  cut()
  await broken
})

test('for an app that does not listen yet, a page explains this and tries again', async () => {
  const { proxy, spec, manager } = await setUp()
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp(spec)).url)
  const unused = createTcpServer().listen(0, '127.0.0.1')
  await once(unused, 'listening')
  const { port } = unused.address() as AddressInfo
  unused.close()
  manager.apps.set('jupyter', { app: httpApp('jupyter'), port, inject })
  const answer = await get(`${origin}/`, { cookie })
  expect(answer.status).toBe(502)
  expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(answer.body).toContain('http-equiv="refresh"')
  expect(answer.body).toContain('app_failed')
})

test.each([
  '//evil.example/',
  '/.//evil.example/',
  '/x/..//evil.example/',
  '//[',
  '//:99999/',
  '/\\\\evil.example',
  'http://evil.example/',
])('the start page %s does not redirect to another site', async path => {
  const { proxy, spec, manager } = await setUp()
  manager.apps.set('evil', { app: httpApp('evil', path), port: 9 })
  const { welcome, origin } = await letIn((await proxy.tunnel.openApp({ ...spec, app: 'evil' })).url)
  expect(new URL(welcome.headers.location ?? '', origin).origin).toBe(origin)
})

/** An app that speaks only https, with an untrusted certificate. */
async function aTlsApp() {
  const { server: identity } = stack.use(await createAuthority())
  const server = createTlsServer(identity, (request, response) => {
    if (request.url === '/big') response.end(Buffer.alloc(3_000_000, 'x'))
    else if (request.url === '/moved')
      response.writeHead(302, { location: `https://${request.headers.host}/lab` }).end()
    else reflect(request, response)
  })
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, request) => {
    socket.send(JSON.stringify(request.headers))
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    server.closeAllConnections()
    server.close()
    sockets.close()
  })
  return (server.address() as AddressInfo).port
}

test('an app that speaks https only is spoken to by TLS, with its own origin; pages, uploads and WebSockets pass', async () => {
  const { proxy, spec, manager } = await setUp()
  manager.apps.set('code', { app: { ...httpApp('code'), protocol: 'https' }, port: await aTlsApp(), inject })
  const { cookie, origin } = await letIn((await proxy.tunnel.openApp({ ...spec, app: 'code' })).url)
  const { host } = new URL(origin)
  const posted = { cookie, origin, referer: `${origin}/lab?a=b` }
  const answer = await get(`${origin}/api`, posted, { method: 'POST', body: 'x'.repeat(100_000) })
  const seen = JSON.parse(answer.body) as { headers: object; body: string }
  expect(seen.body).toHaveLength(100_000)
  expect(seen.headers).toMatchObject({
    ...{ host, origin: `https://${host}`, referer: `https://${host}/lab?a=b`, authorization: inject.value },
  })
  expect((await get(`${origin}/big`, { cookie })).body).toHaveLength(3_000_000)
  expect((await get(`${origin}/moved`, { cookie })).headers.location).toBe(`${origin}/lab`)
  const socket = new WebSocket(`ws://127.0.0.1:${new URL(origin).port}/ws`, { headers: { host, cookie, origin } })
  const [first] = (await once(socket, 'message')) as [Buffer]
  expect(JSON.parse(String(first))).toMatchObject({ host, origin: `https://${host}` })
  socket.send('ping')
  expect(String(((await once(socket, 'message')) as [Buffer])[0])).toBe('ping')
  socket.close()
})

test('an app that is said to speak https and does not, and the other way round, is told as such', async () => {
  const { proxy, spec, manager } = await setUp()
  manager.apps.set('plain', { app: { ...httpApp('plain'), protocol: 'https' }, port: await anApp() })
  manager.apps.set('tls', { app: httpApp('tls'), port: await aTlsApp() })
  const pageOf = async (app: string) => {
    const { cookie, origin } = await letIn((await proxy.tunnel.openApp({ ...spec, app })).url)
    return await get(`${origin}/`, { cookie })
  }
  expect(await pageOf('plain')).toMatchObject({ status: 502, body: expect.stringContaining('without https') as string })
  expect((await pageOf('tls')).body).toMatch(/https/)
})

test('one-time URLs exist for HTTP apps only', async () => {
  const { proxy, spec, manager } = await setUp()
  manager.apps.set('vnc', { app: tcpApp('vnc'), port: 9 })
  await expect(proxy.tunnel.openApp({ ...spec, app: 'vnc' })).rejects.toMatchObject({ code: 'bad_request' })
})

/** Status of a request that a program of another user of this computer makes. */
async function statusFor(uid: number, url: string): Promise<number> {
  const { host, port, pathname, search } = new URL(url)
  const options = { host: '127.0.0.1', port, path: pathname + search, headers: { host } }
  const code = `require('node:http').get(${JSON.stringify(options)}, answer => (console.log(answer.statusCode), answer.destroy()))`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', code], { uid, gid: uid, cwd: '/', env: {} })
  return Number(stdout)
}

test.skipIf(process.getuid?.() !== 0 || process.platform !== 'linux')(
  'a program of one person takes tickets from that person only: every user of the computer reads the arguments of a browser',
  async () => {
    const { proxy, spec } = await setUp(undefined, { ownUserOnly: true })
    const { url } = await proxy.tunnel.openApp(spec)
    expect(await statusFor(54_321, url)).toBe(403)
    // The attempt has not consumed the ticket.
    expect((await get(url)).status).toBe(303)
    const { proxy: shared, spec: other } = await setUp()
    expect(await statusFor(54_321, (await shared.tunnel.openApp(other)).url)).toBe(303)
  },
)

test.runIf(process.platform === 'linux')(
  'a client that ends its direction with the request does not hide its user: it gets no cookie for a ticket',
  async () => {
    const { proxy, spec } = await setUp(undefined, { ownUserOnly: true })
    const { url } = await proxy.tunnel.openApp(spec)
    const { host, port, pathname, search } = new URL(url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.end(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    const answer = await text(socket)
    expect(answer).toMatch(/^HTTP\/1\.1 403 /)
    expect(answer).not.toMatch(/set-cookie/i)
    // The attempt has not consumed the ticket.
    expect((await get(url)).status).toBe(303)
  },
)
