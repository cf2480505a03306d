import { once } from 'node:events'
import { connect } from 'node:net'
import { type IncomingMessage, request as httpRequest } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { ORIGIN_SECRET_HEADER, STREAM_LIMITS } from '#manager/contract'
import { type Tunnel } from '#proxy/contract'
import {
  ask,
  call,
  signedIn,
  signInCookie,
  startWebConsole,
  type WebConsoleOptions,
} from '../../fixtures/web-console.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})
const setUp = (options?: WebConsoleOptions) => startWebConsole(stack, options)

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
  const client = connect(tunnel.port, '127.0.0.1', () => client.write('x'.repeat(1000)))
  client.resume()
  await expect
    .poll(() => heard)
    .toMatch(/event: tunnel:traffic\ndata: .*"bytesUp":1000,"bytesDown":1000,"upPerSecond":\d/)
  client.end()
  await once(client, 'close')
  expect(await call(context, 'tunnel', 'wake')).toEqual({ ok: true, value: null })
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
  expect(refused).toMatchObject({ ok: false, error: { code: 'forbidden', detail: { why: /"This computer" shows/ } } })

  expect(await post('/host/local-proof', ['made.up'])).toEqual({ ok: true, value: null })
  const { value: proof } = await post('/host/local-proof', [web.createLocalCode()])
  const proven = { 'x-berth-local': String(proof) }
  expect(await post('/host/host/info', [], proven)).toMatchObject({ value: { kind: 'local', isUnproven: false } })
  expect(await post('/host/tunnel/open', [spec], proven)).toMatchObject({ ok: true })

  // A reverse proxy that does not report its client, with or without the proof of somebody else's browser.
  for (const relayed of [{ host: 'berth.example.org', origin: 'http://berth.example.org' }, { via: '1.1 lb' }]) {
    expect(await post('/host/tunnel/open', [spec], { ...proven, ...relayed })).toMatchObject({
      error: { code: 'forbidden', detail: { why: /another computer/ } },
    })
    expect(await post('/host/local-proof', [web.createLocalCode()], relayed)).toEqual({ ok: true, value: null })
  }
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
  expect(asked?.headers.cookie).toBe(signInCookie(context.web.port))
})

test('sign-ins that strangers make up are asked about a few at a time, and those that are known do not wait for them', async () => {
  const context = await setUp()
  const { web, manager } = context
  await call(context, 'tunnel', 'list')
  const asked = () => manager.seen.filter(({ url }) => url === '/api/v1/me').length
  expect(asked()).toBe(1)
  const answering = Promise.withResolvers<undefined>()
  manager.held.set('me', answering.promise)
  const good = signedIn(manager, web.port)
  const secret = `berth_${'wrong'.padEnd(43, '_')}`
  const post = async (headers: Record<string, string>) =>
    (await ask(web.port, '/host/tunnel/list', { method: 'POST', headers, body: '[]' })).status
  // No sign-in has such halves, so the manager is not asked.
  expect(await post({ ...good, cookie: `berth_${web.port}=short` })).toBe(401)
  expect(await post({ ...good, 'x-berth-origin-secret': 'short' })).toBe(401)
  const strangers = Array.from({ length: 300 }, (_, index) =>
    post({ ...good, cookie: signInCookie(web.port, `stranger-${index}`), 'x-berth-origin-secret': secret }),
  )
  // Requests beyond the limit have given up when all have arrived.
  const refused = 300 - 16 - 128
  let over = 0
  for (const stranger of strangers) void stranger.then(() => over++)
  await expect.poll(() => over).toBe(refused)
  expect(asked()).toBe(1 + 16)
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000)
  stack.defer(() => void vi.restoreAllMocks())
  const known = call(context, 'tunnel', 'list')
  await expect.poll(asked).toBe(1 + 16 + 1)
  answering.resolve(undefined)
  expect(await known).toMatchObject({ ok: true })
  const statuses = await Promise.all(strangers)
  expect(statuses.filter(status => status === 503)).toHaveLength(refused)
  expect(statuses.filter(status => status === 401)).toHaveLength(300 - refused)
})

test('a cookie that another port planted for some paths keeps nothing open after signing out', async () => {
  const context = await setUp()
  const { web, manager } = context
  await call(context, 'tunnel', 'open', { sessionId: manager.session.id, app: 'echo' })
  await expect.poll(() => manager.eventStreams).toBe(1)
  const headers = signedIn(manager, web.port)
  const planted = { ...headers, cookie: `${signInCookie(web.port, 'planted')}; ${headers.cookie}` }
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
      headers: { ...signedIn(manager, web.port), cookie: signInCookie(web.port, name) },
      body: JSON.stringify(args),
    })
  await as('first', 'open', { sessionId: manager.session.id, app: 'echo' })
  await as('second', 'list')
  manager.ended = signInCookie(web.port, 'second')
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60_000)
  stack.defer(() => void vi.restoreAllMocks())
  expect((await as('second', 'list')).status).toBe(401)
  await manager.stop()
  manager.seen.length = 0
  await manager.start()
  await expect
    .poll(() => manager.seen.find(({ url }) => url === '/api/v1/events')?.headers.cookie)
    .toBe(signInCookie(web.port, 'first'))
})

test('a sign-in has at most 32 event streams, whatever cookies of others come with it', async () => {
  const { web, manager, host } = await setUp()
  const own = { ...signedIn(manager, web.port), host }
  async function open(index: number): Promise<IncomingMessage> {
    const headers = { ...own, cookie: `${signInCookie(index, 'planted')}; ${own.cookie}` }
    const sent = httpRequest({ host: '127.0.0.1', port: web.port, path: '/host/events', headers, agent: false }).end()
    stack.defer(() => void sent.on('error', () => undefined).destroy())
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return answer
  }
  const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => open(index + 1)))
  expect(answers.filter(({ statusCode }) => statusCode === 200)).toHaveLength(32)
  expect(answers.filter(({ statusCode }) => statusCode === 429)).toHaveLength(8)
  answers.find(({ statusCode }) => statusCode === 200)?.destroy()
  await expect.poll(async () => (await open(50)).statusCode).toBe(200)
})

test('one person has a bounded number of event streams, shared fairly by all sign-ins', async () => {
  const { web, manager, host } = await setUp()
  const open = async (signIn: number) => {
    const secret = `berth_${String(signIn).padEnd(43, '_')}`
    manager.otherSecrets.add(secret)
    const headers = { ...signedIn(manager, web.port), host, [ORIGIN_SECRET_HEADER]: secret }
    const sent = httpRequest({ host: '127.0.0.1', port: web.port, path: '/host/events', headers, agent: false }).end()
    stack.defer(() => void sent.on('error', () => undefined).destroy())
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return answer.resume()
  }
  const { person, signIn } = STREAM_LIMITS
  const first = await open(0)
  const others = await Promise.all(
    Array.from({ length: person - 1 }, (_, index) => open(Math.floor((index + 1) / signIn))),
  )
  expect(others.map(({ statusCode }) => statusCode)).toEqual(others.map(() => 200))
  const ended = once(first, 'end')
  expect((await open(signIn)).statusCode).toBe(200)
  await ended
  // The client of the stream that was closed is told why it cannot have another one.
  expect((await open(0)).statusCode).toBe(429)
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
