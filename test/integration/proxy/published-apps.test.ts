import { once } from 'node:events'
import { createServer, type IncomingMessage, request as httpRequest, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, type Socket } from 'node:net'
import { type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type ApiClient, parseAppsAddress, type PublishedApp, type Session } from '#manager/contract'
import { startWeb, type Web } from '../../../proxy/web/server.ts'
import { type Authority, createAuthority } from '../../fixtures/authority.ts'
import { launchBrowser } from '../../fixtures/browser.ts'
import { startAppStreams } from '../../fixtures/app-streams.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { startScriptedApi } from '../../fixtures/scripted-api.ts'
import { startMeshAgent, scriptedEngine } from '../../fixtures/mesh-agent.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Published apps from the visitor's request to the app, through a real console, manager and agent's end of the tunnel. */

const SECRET = 'the-secret-of-console-and-manager-in-tests'
const ADDRESS = parseAppsAddress('http://*.apps.example.org')
if (!ADDRESS) throw new Error('the address is one')
const quiet = pino({ level: 'silent' })

let stack: AsyncDisposableStack
let cluster: SessionsCluster
let web: Web
let mira: ApiClient
let stranger: ApiClient
let session: Session
/** Requests that the apps received: the published one, and another one of the same session. */
const seen: { app: string; url: string; headers: IncomingMessage['headers'] }[] = []

/** A page that sends its own form with `Origin: null` unless its policy is changed; the policy of `/form-meta` cannot be. */
function form({ url, method }: IncomingMessage, response: ServerResponse): void {
  const meta = url === '/form-meta' ? '<meta name=referrer content=no-referrer>' : ''
  response.writeHead(200, { 'content-type': 'text/html', 'referrer-policy': 'no-referrer' })
  response.end(`<!doctype html>${meta}<title>${method}</title><form method=post><button>go</button></form>`)
}

/** @param tls certificate and key of an app that speaks only https */
function anApp(name: string, tls?: Authority['server']): Server {
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    seen.push({ app: name, url: request.url ?? '', headers: request.headers })
    if (request.url?.startsWith('/form')) {
      form(request, response)
      return
    }
    if (request.url === '/slow') return void response.writeHead(200).write('begun')
    response.writeHead(200, {
      'set-cookie': ['sid=1; Domain=example.org; Path=/', 'berth_8400=planted; Path=/'],
      'clear-site-data': '"cookies"',
    })
    response.end(`${name} here`)
  }
  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  server.on('upgrade', (_request, socket: Socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n')
    socket.pipe(socket)
  })
  return server.listen(0, '127.0.0.1')
}
const portOf = (server: Server) => (server.address() as AddressInfo).port

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  cluster = stack.use(await startSessionsCluster(undefined, { consoleSecret: SECRET, appsAddress: ADDRESS }))
  await cluster.api.updateSettings({ body: { publishApps: true, publishMaxHours: 48 } })
  const authority = stack.use(await createAuthority())
  const [published, other, secure] = [anApp('jupyter'), anApp('other'), anApp('secure', authority.server)]
  await Promise.all([published, other, secure].map(server => once(server, 'listening')))
  stack.defer(() => {
    for (const server of [published, other, secure]) server.close().closeAllConnections()
  })
  const ports: Record<string, number> = {
    jupyter: portOf(published),
    other: portOf(other),
    'https-8443': portOf(secure),
  }
  const images = [{ ...PYTHON, apps: [...PYTHON.apps, { ...PYTHON.apps[0]!, name: 'other', port: 8889 }] }]
  const engine = scriptedEngine({ images, name: 'agent-1' })
  engine.script.start_app = () => ({ inject: { header: 'authorization', value: 'token of-the-app' } })
  const streams = stack.use(startAppStreams(ports))
  const home = stack.use(await temporaryDirectory()).path
  const { join } = await cluster.manager.createJoinToken()
  const serve = streams.serve.bind(streams)
  stack.use(await startMeshAgent({ home, engine, join, serve }))
  const directory = stack.use(await temporaryDirectory()).path
  web = stack.use(
    await startWeb(
      {
        dataDir: directory,
        port: 0,
        managerUrl: cluster.url,
        allowedHosts: [],
        consoleDir: directory,
        version: '0',
        sshDirectory: `${directory}/.ssh`,
        consoleSecret: SECRET,
        appsAddress: ADDRESS,
        trustedProxies: ['127.0.0.1'],
      },
      quiet,
    ),
  )
  mira = await cluster.addUser('mira@example.org')
  stranger = await cluster.addUser('stranger@example.org')
  session = await cluster.launch({ name: 'train' }, mira)
  const status = async () => (await mira.getSession({ params: { id: session.id } })).status
  await vi.waitFor(async () => expect(await status()).toBe('RUNNING'), { timeout: 120_000 })
})
afterAll(() => stack.disposeAsync())

async function sql(statement: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: cluster.source.databaseUrl })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

const closeOf = (stream: Readable) => new Promise<void>(done => void stream.once('close', done))

interface Visitor {
  readonly host?: string
  readonly path?: string
  readonly method?: string
  readonly cookie?: string | undefined
  readonly headers?: Record<string, string>
  readonly body?: string
  /** As reported by a trusted reverse proxy in front of the console. */
  readonly from?: string
}

async function visit(app: Pick<PublishedApp, 'url'>, visitor: Visitor = {}) {
  const url = new URL(app.url ?? '')
  const { host = url.host, path = url.pathname + url.search, cookie, from = '203.0.113.7' } = visitor
  const sent = httpRequest({
    host: '127.0.0.1',
    port: web.port,
    method: visitor.method ?? 'GET',
    path,
    agent: false,
    headers: { host, 'x-forwarded-for': from, ...(cookie ? { cookie } : {}), ...visitor.headers },
  })
  sent.end(visitor.body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const cookies = response.headers['set-cookie'] ?? []
  const body = await text(response)
  return { status: response.statusCode, headers: response.headers, cookies, cookie: cookies[0]?.split(';')[0], body }
}

const publish = (body: Parameters<ApiClient['publishApp']>[0]['body'] = {}) =>
  mira.publishApp({ params: { id: session.id, app: 'jupyter' }, body })

test('a link admits its visitors, and the app sees neither the key nor a credential of Berth', async () => {
  const app = await publish()
  expect(app).toMatchObject({ app: 'jupyter', title: 'JupyterLab', hasPassword: false, owner: 'mira@example.org' })
  const door = await visit(app)
  expect(door).toMatchObject({ status: 303, headers: { location: '/lab', 'referrer-policy': 'no-referrer' } })
  expect(door.cookies[0]).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/)
  seen.length = 0
  const cookie = `${door.cookie ?? ''}; berth_8400=sign-in; __Host-berth_8400=sign-in; own=1`
  const forged = { 'x-forwarded-host': 'evil.example', authorization: 'forged' }
  const inside = await visit(app, { path: '/lab', cookie, headers: forged })
  expect(inside).toMatchObject({ status: 200, body: 'jupyter here' })
  // Cookies stay at the app's own name, and the app cannot set or delete ours.
  expect(inside.cookies).toEqual(['sid=1; Path=/'])
  expect(inside.headers['clear-site-data']).toBeUndefined()
  expect(seen).toEqual([{ app: 'jupyter', url: '/lab', headers: expect.anything() as never }])
  expect(seen[0]?.headers).toMatchObject({
    cookie: 'own=1',
    authorization: 'token of-the-app',
    'x-forwarded-for': '203.0.113.7',
  })
  expect(JSON.stringify(seen)).not.toContain(new URL(app.url ?? '').searchParams.get('key'))
  expect(seen[0]?.headers).not.toHaveProperty('x-forwarded-host')
  const { items } = await mira.listPublishedApps()
  expect(items.find(({ id }) => id === app.id)).toMatchObject({ visits: 1, url: app.url })
})

test('a port that speaks https only is published like any other app', async () => {
  const app = await mira.publishApp({ params: { id: session.id, app: 'https-8443' }, body: {} })
  const { cookie } = await visit(app)
  const { origin, host } = new URL(app.url ?? '')
  const inside = await visit(app, { path: '/lab', method: 'POST', body: 'x', cookie, headers: { origin } })
  expect(inside).toMatchObject({ status: 200, body: 'secure here' })
  expect(seen.at(-1)).toMatchObject({ app: 'secure', url: '/lab', headers: { host, origin: `https://${host}` } })
})

test('nobody is admitted without the key: guesses, cookies of another link, other sites, the console below the same name', async () => {
  const [app, another] = [await publish(), await publish()]
  const path = '/lab'
  seen.length = 0
  const cookie = (await visit(another)).cookie
  const guesses: [Visitor, number][] = [
    [{ path }, 403],
    [{ path, cookie }, 403],
    [{ path, cookie: cookie?.replace(another.url!.slice(7, 23), app.url!.slice(7, 23)) }, 403],
    [{ path: '/_berth/open' }, 403],
    [{ path: '/_berth/open?key=' }, 403],
    [{ path: `/_berth/open?key=${'A'.repeat(43)}` }, 403],
    [{ path: new URL(another.url ?? '').pathname + new URL(another.url ?? '').search }, 403],
    [{ host: 'abcdefghijklmnop.apps.example.org' }, 404],
    [{ host: '1.apps.example.org' }, 404],
    [{ path: 'http://elsewhere.example/' }, 404],
  ]
  for (const [visitor, status] of guesses)
    expect([visitor, (await visit(app, visitor)).status]).toEqual([visitor, status])
  const good = (await visit(app)).cookie
  const foreign: Record<string, string>[] = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: 'null', 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' },
    { origin: new URL(another.url ?? '').origin },
    { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
    { 'service-worker': 'script' },
  ]
  for (const headers of foreign) {
    const { status } = await visit(app, { path: '/sw.js', cookie: good, headers })
    expect([headers, status]).toEqual([headers, 403])
  }
  // Neither the console nor the API can be reached under the name of an app; similar addresses belong to the app.
  expect(await visit(app, { path: '/api/v1/sessions' })).toMatchObject({ status: 403 })
  expect(seen).toEqual([])
  expect(await visit(app, { path: '/api/v1/sessions', cookie: good })).toMatchObject({ body: 'jupyter here' })
  expect(new Set(seen.map(one => one.app))).toEqual(new Set(['jupyter']))
})

test('a page with the policy no-referrer sends its own forms, also over plain http', async () => {
  const app = await publish()
  const { cookie = '' } = await visit(app)
  const own = { origin: 'null', 'sec-fetch-site': 'same-origin' }
  expect(await visit(app, { path: '/lab', method: 'POST', cookie, headers: own })).toMatchObject({ status: 200 })

  await using browser = await launchBrowser({ names: `MAP *.apps.example.org 127.0.0.1:${web.port}` })
  const page = await (await browser.newContext({ locale: 'en-GB' })).newPage()
  await page.goto(app.url ?? '')
  const send = async (path: string) => {
    await page.goto(new URL(path, app.url ?? '').href)
    await page.getByRole('button').click()
    await page.waitForFunction(() => document.title !== 'GET')
    return await page.title()
  }
  expect(await send('/form')).toBe('POST')
  expect(await send('/form-meta')).toBe('The browser does not say which page sent this request')
})

test('a link with a password asks for it, and guesses have to wait longer and longer', async () => {
  const app = await publish({ password: 'Open-sesame-1' })
  const key = new URL(app.url ?? '').searchParams.get('key') ?? ''
  const form = await visit(app)
  expect(form).toMatchObject({ status: 200, cookies: [] })
  expect(form.body).toContain('type="password"')
  expect(form.body).toContain('lang="en"')
  const korean = await visit(app, { headers: { 'accept-language': 'ko-KR,ko;q=0.9,en;q=0.8' } })
  expect(korean.body).toContain('lang="ko"')
  expect(korean.body).toContain('비밀번호')
  const tell = (password: string, from = '198.51.100.4') =>
    visit(app, {
      method: 'POST',
      path: '/_berth/open',
      from,
      headers: { origin: new URL(app.url ?? '').origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ key, password }).toString(),
    })
  expect((await tell('wrong')).body).toContain('Wrong password')
  for (let guess = 0; guess < 4; guess++) await tell(`wrong-${guess}`)
  // The first wait is a second; on a slow machine it would have passed.
  const longer = await sql(`update login_failures set blocked_until = now() + interval '1 minute'
    where key = 'published-app:${app.id}:198.51.100.4' and blocked_until is not null returning failures`)
  expect(longer).toEqual([{ failures: 5 }])
  const refused = await tell('Open-sesame-1')
  expect(refused.body).toContain('Too many wrong passwords')
  expect(refused.cookies).toEqual([])
  // These guesses do not delay others.
  const good = await tell('Open-sesame-1', '203.0.113.9')
  expect(good.status).toBe(303)
  expect(await visit(app, { path: '/lab', cookie: good.cookie })).toMatchObject({ body: 'jupyter here' })
  const rows = await mira.listPublishedApps({ query: { session: session.id } })
  expect(JSON.stringify(rows)).not.toContain('Open-sesame-1')
})

test('the address of a visitor is checked at every request', async () => {
  const app = await publish({ addresses: ['203.0.113.0/24', '2001:db8::/32'] })
  expect((await visit(app, { from: '198.51.100.4' })).status).toBe(403)
  expect((await visit(app, { from: '2001:db8::5' })).status).toBe(303)
  const { cookie } = await visit(app, { from: '203.0.113.8' })
  expect((await visit(app, { path: '/lab', cookie, from: '203.0.113.9' })).status).toBe(200)
  expect((await visit(app, { path: '/lab', cookie, from: '198.51.100.4' })).status).toBe(403)
  await expect(publish({ addresses: ['203.0.113.0/40'] })).rejects.toMatchObject({ code: 'bad_request' })
})

test('withdrawing a link ends its open connections at once', async () => {
  const app = await publish()
  const { cookie = '' } = await visit(app)
  const { host } = new URL(app.url ?? '')
  const upgrade = httpRequest({
    host: '127.0.0.1',
    port: web.port,
    path: '/ws',
    headers: { host, cookie, origin: `http://${host}`, upgrade: 'echo', connection: 'Upgrade' },
  })
  upgrade.end()
  const [, socket] = (await once(upgrade, 'upgrade')) as [IncomingMessage, Socket]
  socket.on('error', () => undefined)
  socket.write('ping')
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toBe('ping')
  const slow = httpRequest({ host: '127.0.0.1', port: web.port, path: '/slow', headers: { host, cookie } })
  slow.on('error', () => undefined).end()
  const [answer] = (await once(slow, 'response')) as [IncomingMessage]
  answer.on('error', () => undefined).resume()
  const ends = Promise.all([closeOf(socket), closeOf(answer)])
  await expect(stranger.unpublishApp({ params: { publishedId: app.id } })).rejects.toMatchObject({
    code: 'published_app_not_found',
  })
  expect(await mira.unpublishApp({ params: { publishedId: app.id } })).toEqual({ connections: 2 })
  await ends
  await expect.poll(async () => (await visit(app, { path: '/lab', cookie })).status).toBe(410)
  const { items } = await cluster.api.listAuditLog({ query: {} })
  const told = items.map(({ action, target }) => `${action} ${target}`)
  expect(told).toContain(`publishApp session:${session.id}`)
  expect(told.some(line => line.startsWith('unpublishApp '))).toBe(true)
})

test('whoever held a link learns why it has ended, and nobody else that there was one', async () => {
  const [withdrawn, expired] = [await publish(), await publish()]
  const cookies = { withdrawn: (await visit(withdrawn)).cookie, expired: (await visit(expired)).cookie }
  await mira.unpublishApp({ params: { publishedId: withdrawn.id } })
  await sql(`update published_apps set expires_at = now() where id = '${expired.id}'`)
  const inside = { path: '/lab', cookie: cookies.withdrawn }
  await expect.poll(async () => (await visit(withdrawn, inside)).body).toContain('This link was withdrawn')
  const withKey = await visit(withdrawn)
  expect(withKey).toMatchObject({ status: 410, cookies: [] })
  expect(withKey.body).toContain('or an administrator, has ended the link')
  expect((await visit(withdrawn, { headers: { 'accept-language': 'ko' } })).body).toContain('취소된 링크입니다')
  expect((await visit(expired)).body).toContain('This link has expired')
  const unknown = await visit(withdrawn, { host: 'abcdefghijklmnop.apps.example.org', path: '/' })
  const strange: Visitor[] = [
    { path: '/' },
    { path: '/_berth/open' },
    { path: `/_berth/open?key=${'A'.repeat(43)}` },
    { path: new URL(expired.url ?? '').pathname + new URL(expired.url ?? '').search },
    { path: '/lab', cookie: cookies.expired },
    { path: '/lab', cookie: `${cookies.withdrawn ?? ''}x` },
  ]
  for (const visitor of strange) {
    const { status, body } = await visit(withdrawn, visitor)
    expect([visitor, status, body]).toEqual([visitor, 404, unknown.body])
  }
})

test('a link expires by itself, also for an open connection', async () => {
  const app = await publish({ hours: 0.05 })
  const { cookie = '' } = await visit(app)
  const { host } = new URL(app.url ?? '')
  const slow = httpRequest({ host: '127.0.0.1', port: web.port, path: '/slow', headers: { host, cookie } })
  slow.on('error', () => undefined).end()
  const [answer] = (await once(slow, 'response')) as [IncomingMessage]
  answer.on('error', () => undefined).resume()
  const ended = closeOf(answer)
  await sql(`update published_apps set expires_at = now() where id = '${app.id}'`)
  await ended
  expect((await visit(app)).status).toBe(410)
})

test('only the owner publishes, within the limits of the administrators; admins see links without their keys', async () => {
  await expect(cluster.api.publishApp({ params: { id: session.id, app: 'jupyter' }, body: {} })).rejects.toMatchObject({
    code: 'forbidden',
  })
  await expect(publish({ hours: 49 })).rejects.toMatchObject({ code: 'bad_request', detail: { maxHours: 48 } })
  for (const app of ['terminal', 'sshd', 'tcp-22']) {
    await expect(mira.publishApp({ params: { id: session.id, app }, body: {} })).rejects.toMatchObject({
      code: app === 'terminal' ? 'app_not_found' : 'bad_request',
    })
  }
  const app = await publish()
  const { items } = await cluster.api.listPublishedApps()
  expect(items.find(({ id }) => id === app.id)).toMatchObject({ url: null, sessionName: 'train' })
})

test('routes for the console accept no person, whatever the role, and the console forwards nobody to them', async () => {
  const { id } = await publish()
  const found = await sql(`select name from published_apps where id = '${id}'`)
  const place = String(found[0]?.name)
  for (const api of [mira, cluster.api]) {
    await expect(api.getServedApp({ params: { place } })).rejects.toMatchObject({ code: 'forbidden' })
  }
  const sent = httpRequest({
    host: '127.0.0.1',
    port: web.port,
    path: `/console/v1/published-apps/${place}`,
    headers: { host: `localhost:${web.port}` },
  })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  expect(await text(response)).not.toContain('visitSecret')
})

test('switching publishing off ends every link, and the end of a session ends its own links', async () => {
  const app = await publish()
  const { cookie } = await visit(app)
  await cluster.api.updateSettings({ body: { publishApps: false } })
  await expect.poll(async () => (await visit(app, { path: '/lab', cookie })).status).toBe(410)
  await expect(publish()).rejects.toMatchObject({ code: 'publishing_off' })
  await cluster.api.updateSettings({ body: { publishApps: true } })
  expect((await visit(app)).body).toContain('This link was withdrawn')
  const last = await publish()
  await mira.deleteSession({ params: { id: session.id } })
  await cluster.reach(session.id, 'TERMINATED')
  await expect.poll(async () => (await visit(last)).body).toContain('The app of this link has ended')
  expect((await mira.listPublishedApps()).items).toEqual([])
})

test('with apps at ports, each port serves its own app, and a port without an app says so', async () => {
  const [first, taken] = [await freePort(), await freePort()].toSorted((a, b) => a - b)
  const address = parseAppsAddress(`http://apps.example.org:${first}-${first}`)
  await using api = await startScriptedApi({})
  await using directory = await temporaryDirectory()
  const config = {
    dataDir: directory.path,
    port: taken!,
    managerUrl: api.environment.BERTH_ENDPOINT!,
    allowedHosts: [],
  }
  const more = {
    consoleDir: directory.path,
    version: '0',
    sshDirectory: `${directory.path}/.ssh`,
    consoleSecret: SECRET,
  }
  await using served = await startWeb({ ...config, ...more, appsAddress: address }, quiet)
  expect(served.port).toBe(taken)
  const reply = await fetch(`http://127.0.0.1:${first}/api/v1/sessions`)
  expect(await reply.text()).toContain('<h1>')
  expect(api.asked.filter(one => !one.startsWith('PUT '))).toEqual([`GET /console/v1/published-apps/${first}`])
})
