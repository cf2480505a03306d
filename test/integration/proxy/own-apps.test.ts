import { once } from 'node:events'
import { createServer, type IncomingMessage, request as httpRequest, type Server } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { defined } from '#base/defined'
import {
  type ApiClient,
  CONSOLE_SECRET_HEADER,
  createClient,
  isAppError,
  ORIGIN_SECRET_HEADER,
  parseAppsAddress,
  type Session,
  type UserId,
} from '#manager/contract'
import { startWeb } from '../../../proxy/web/server.ts'
import { startAppStreams } from '../../fixtures/app-streams.ts'
import { freePorts } from '../../fixtures/free-port.ts'
import { apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { startMeshAgent, scriptedEngine } from '../../fixtures/mesh-agent.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

/** Web apps of people for browsers on other computers: from the browser's request to the app, with apps at ports of one host. */

const SECRET = 'the-secret-of-console-and-manager-in-tests'
const HOST = 'berth.example.org'
/** The console has its own name, behind a reverse proxy. */
const CONSOLE_COOKIE = '__Host-berth_443'

let stack: AsyncDisposableStack
let cluster: SessionsCluster
let mira: Person
let bob: Person
let session: Session
/** First of the twelve ports of apps. */
let first: number
/** Another program that uses a port of the range. */
let foreign: NetServer
/** Requests that the apps got. */
const seen: { app: string; method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []

interface Person {
  readonly api: ApiClient
  readonly id: UserId
  readonly email: string
}

function anApp(app: string): Server {
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const { method = '', url = '', headers } = request
      seen.push({ app, method, url, headers, body })
      response.writeHead(200, {
        'set-cookie': ['sid=1; Path=/', '__Host-berth_8400=planted; Path=/; Secure'],
        'strict-transport-security': 'max-age=0',
        nel: '{"report_to":"x","max_age":31536000,"success_fraction":1}',
        'report-to': '{"group":"x","max_age":31536000,"endpoints":[{"url":"https://evil.example"}]}',
        'clear-site-data': '"cookies"',
      })
      response.end(`${app} here`)
    })
  })
  server.on('upgrade', (_request, socket: Socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    socket.pipe(socket)
  })
  return server.listen(0, '127.0.0.1')
}
const portOf = (server: Server) => (server.address() as AddressInfo).port

async function someone(email: string): Promise<Person> {
  await cluster.addUser(email)
  return await signIn(email)
}
async function signIn(email: string): Promise<Person> {
  const { token, user } = await apiOf(cluster.url).login({ body: { email, password: USER_PASSWORD, kind: 'token' } })
  if (token === null) throw new Error('no token')
  return { api: apiOf(cluster.url, token), id: user.id, email }
}

/** Signs in like the page of the console: with a cookie, which browsers send to every port of the name, and a secret. */
async function signInBrowser(email: string) {
  const login = { email, password: USER_PASSWORD, kind: 'browser' }
  const url = `${cluster.url}/api/v1/auth/login`
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(url, { method: 'POST', headers, body: JSON.stringify(login) })
  const { originSecret } = (await reply.json()) as { originSecret: string }
  const cookie = reply.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const [, value = ''] = cookie.split('=')
  const api = createClient({
    baseUrl: cluster.url,
    fetch: (at, init) => fetch(at, init as RequestInit),
    headers: () => ({
      cookie,
      [ORIGIN_SECRET_HEADER]: originSecret,
      [CONSOLE_SECRET_HEADER]: SECRET,
      origin: cluster.url,
    }),
  })
  return { value, api }
}

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  first = await freePorts(12)
  const address = parseAppsAddress(`https://${HOST}:${first}-${first + 11}`)
  if (!address) throw new Error('the address is one')
  cluster = stack.use(await startSessionsCluster(undefined, { consoleSecret: SECRET, appsAddress: address }))
  const [notebook, other] = [anApp('jupyter'), anApp('other')]
  await Promise.all([once(notebook, 'listening'), once(other, 'listening')])
  stack.defer(() => {
    for (const server of [notebook, other]) server.close().closeAllConnections()
  })
  const ports = { jupyter: portOf(notebook), other: portOf(other) }
  const images = [{ ...PYTHON, apps: [...PYTHON.apps, { ...PYTHON.apps[0]!, name: 'other', port: 8889 }] }]
  const engine = scriptedEngine({ images, name: 'agent-1' })
  engine.script.start_app = () => ({ inject: { header: 'authorization', value: 'token of-the-app' } })
  const streams = stack.use(startAppStreams(ports))
  const home = stack.use(await temporaryDirectory()).path
  const { join } = await cluster.manager.createJoinToken()
  stack.use(await startMeshAgent({ home, engine, join, serve: streams.serve.bind(streams) }))
  const directory = stack.use(await temporaryDirectory()).path
  const paths = { dataDir: directory, consoleDir: directory, sshDirectory: `${directory}/.ssh`, version: '0' }
  const names = { managerUrl: cluster.url, allowedHosts: [HOST], appsAddress: address, consoleSecret: SECRET }
  // As behind a reverse proxy that speaks TLS.
  foreign = createNetServer().listen(first + 11, '127.0.0.1')
  await once(foreign, 'listening')
  const log = pino({ level: 'silent' })
  stack.use(
    await startWeb({ ...paths, ...names, port: 0, trustedProxies: ['127.0.0.1'] }, log, { appPortsEveryMs: 100 }),
  )
  await cluster.api.updateSettings({ body: { publicUrl: `https://${HOST}` } })
  mira = await someone('mira@example.org')
  bob = await someone('bob@example.org')
})
afterAll(() => stack.disposeAsync())

async function inDatabase(statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: cluster.source.databaseUrl })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

beforeEach(async () => {
  session = await cluster.launch({}, mira.api)
  const status = async () => (await mira.api.getSession({ params: { id: session.id } })).status
  await vi.waitFor(async () => expect(await status()).toBe('RUNNING'), { timeout: 120_000 })
  seen.length = 0
})

afterEach(async () => {
  for (const { id } of (await cluster.api.listSessions({ query: { status: 'live' } })).items) {
    await cluster.api.deleteSession({ params: { id } })
    await cluster.reach(id, 'TERMINATED')
  }
})

/** A page of a sibling app shows an app in a frame. */
const FRAMED = { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }

interface Asked {
  readonly path?: string
  readonly method?: string
  readonly cookie?: string | undefined
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** A request of a browser on another computer. */
async function browse(at: string, { path, method = 'GET', cookie, headers, body }: Asked = {}) {
  const url = new URL(at)
  const sent = httpRequest({
    host: '127.0.0.1',
    port: url.port,
    method,
    path: path ?? url.pathname + url.search,
    agent: false,
    headers: { host: url.host, 'x-forwarded-for': '203.0.113.7', ...(cookie ? { cookie } : {}), ...headers },
  })
  sent.end(body)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const cookies = response.headers['set-cookie'] ?? []
  return {
    status: response.statusCode,
    headers: response.headers,
    cookies,
    cookie: cookies[0]?.split(';')[0],
    body: await text(response),
  }
}

async function socketAt(at: string, cookie: string): Promise<Socket> {
  const { host, port, origin } = new URL(at)
  const upgrade = httpRequest({
    host: '127.0.0.1',
    port,
    path: '/api/kernels/1/channels',
    headers: { host, cookie, origin, upgrade: 'websocket', connection: 'Upgrade' },
  })
  upgrade.end()
  const [, socket] = (await once(upgrade, 'upgrade')) as [IncomingMessage, Socket]
  socket.on('error', () => undefined)
  socket.write('1 + 1')
  expect(String(((await once(socket, 'data')) as [Buffer])[0])).toBe('1 + 1')
  return socket
}
const closeOf = (socket: Socket) => new Promise<void>(done => void socket.once('close', done))

const open = (who: Person = mira, app = 'jupyter', path?: string) =>
  who.api.openApp({ params: { id: session.id, app }, body: defined({ path }) })

/** Presents a ticket and confirms the app's owner, as required for a browser that did not request it. */
function arrive(url: string, asked: Asked = {}) {
  const { origin, pathname, searchParams } = new URL(url)
  const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' }
  return browse(origin, { path: pathname, method: 'POST', body: searchParams.toString(), ...asked, headers })
}

const isRefusal = (status: unknown) => status === 403 || status === 404

/** Opens an app and enters. */
async function enter(who: Person = mira, app = 'jupyter') {
  const { url, origin } = await open(who, app)
  const { cookie = '', status } = await arrive(url)
  expect(status).toBe(303)
  return { origin, cookie }
}

async function refusal(call: Promise<unknown>): Promise<string> {
  return await call.then(
    () => 'ok',
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  )
}

test('a ticket admits one browser once; the app gets requests, uploads and sockets, and no credential of Berth', async () => {
  const { url, origin } = await open(mira, 'jupyter', '/lab?reset')
  const door = await arrive(url)
  expect(door).toMatchObject({ status: 303, headers: { location: '/lab?reset', 'referrer-policy': 'no-referrer' } })
  expect(door.cookies).toEqual([
    expect.stringMatching(
      /^__Host-berth_visit_[a-z2-7]{16}=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/,
    ),
  ])
  // Another app may have had this port before.
  expect(door.headers['clear-site-data']).toBe('"cache", "storage"')
  expect(await arrive(url)).toMatchObject({ status: 401, cookies: [] })

  const others = 'berth_8400=half; __Host-berth_8400=half; __Host-berth_visit_aaaaaaaaaaaaaaaa=1.2.3; berth_app_9000=x'
  const cookie = `${others}; ${door.cookie ?? ''}; own=1`
  const forged = { authorization: 'forged', 'x-forwarded-host': 'evil.example' }
  const page = await browse(origin, { path: '/lab', cookie, headers: forged })
  expect(page).toMatchObject({ status: 200, body: 'jupyter here', cookies: ['sid=1; Path=/'] })
  for (const name of ['strict-transport-security', 'nel', 'report-to']) expect(page.headers).not.toHaveProperty(name)
  expect(page.headers).not.toHaveProperty('clear-site-data')
  const body = 'x'.repeat(300_000)
  await browse(origin, { path: '/upload', method: 'POST', cookie, headers: { origin }, body })
  expect(seen.map(({ method, url: at, body: { length } }) => [method, at, length])).toEqual([
    ['GET', '/lab', 0],
    ['POST', '/upload', 300_000],
  ])
  expect(seen[0]?.headers).toMatchObject({ cookie: 'own=1', authorization: 'token of-the-app' })
  expect(seen[0]?.headers).not.toHaveProperty('x-forwarded-host')
  ;(await socketAt(origin, cookie)).destroy()

  // A second ticket leads to the same origin, where the person's layout is kept.
  const again = await open()
  expect(again.origin).toBe(origin)
  expect((await browse(again.url, { cookie })).headers).not.toHaveProperty('clear-site-data')
  const { items } = await cluster.api.listAuditLog({ query: {} })
  expect(items.map(({ action, target }) => `${action} ${target}`)).toContain(`openApp session:${session.id}`)
  expect(JSON.stringify(items)).not.toContain(new URL(url).searchParams.get('ticket'))
  expect((await mira.api.listPublishedApps()).items).toEqual([])
})

test('a browser that did not ask for the ticket is told whose app it is, and its person decides', async () => {
  const { value, api } = await signInBrowser(mira.email)
  const hers = `${CONSOLE_COOKIE}=${value}`
  const his = `${CONSOLE_COOKIE}=${(await signInBrowser(bob.email)).value}`
  const elsewhere = `berth_8090=${(await signInBrowser(bob.email)).value}`
  const opened = async () => await api.openApp({ params: { id: session.id, app: 'jupyter' }, body: { path: '/lab' } })
  const { url, origin } = await opened()
  // Mira sends Bob the link: it looks like any other link of the console. A page at another port of the name, such as an app of hers, can
  // give his browser her cookie: under another name, or beside his.
  const planted = [
    `berth_1=${value}`,
    `__Host-berth_1=${value}`,
    `berth_443=${value}`,
    `${his}; ${hers}`,
    `${hers}; ${his}`,
  ]
  for (const cookie of [undefined, his, hers.replace(/.$/, '_'), ...planted]) {
    const asked = await browse(url, { cookie })
    expect(asked).toMatchObject({ status: 200, cookies: [], headers: { 'referrer-policy': 'strict-origin' } })
    for (const text of [mira.email, 'JupyterLab', session.name]) expect(asked.body).toContain(text)
  }
  const korean = await browse(url, { headers: { 'accept-language': 'ko' } })
  expect(korean.body).toContain(`${mira.email} 사용자로 계속`)
  // The link was not consumed. Her own browser, in which she opened it, continues at once.
  const door = await browse(url, { cookie: `${elsewhere}; ${hers}` })
  expect(door).toMatchObject({ status: 303, headers: { location: '/lab' } })
  expect((await browse(url, { cookie: hers })).status).toBe(401)
  // A browser that is already in this app has confirmed it.
  expect((await browse((await opened()).url, { cookie: door.cookie })).status).toBe(303)
  expect(await browse(origin, { path: '/lab', cookie: door.cookie })).toMatchObject({ body: 'jupyter here' })
})

test('strangers, other members, other ports and other sites open nothing', async () => {
  const [notebook, other] = [await enter(mira, 'jupyter'), await enter(mira, 'other')]
  expect(notebook.origin).not.toBe(other.origin)
  for (const app of ['jupyter', 'other']) expect(await refusal(open(bob, app))).toBe('session_not_found')
  expect(await refusal(open(mira, 'sshd'))).toBe('bad_request')

  const path = '/lab'
  const [name = '', value = ''] = notebook.cookie.split('=')
  const [otherName = '', otherValue = ''] = other.cookie.split('=')
  const unused = new URL((await open()).url)
  const guesses: [Asked, number][] = [
    [{ path }, 401],
    [{ path, cookie: other.cookie }, 401],
    [{ path, cookie: `${name}=${otherValue}` }, 401],
    [{ path, cookie: `${otherName}=${value}` }, 401],
    [{ path, cookie: `${name}=${value.replace(/\.[^.]+\./, `.${mira.id}.`)}` }, 401],
    [{ path: '/_berth/open' }, 401],
    [{ path: `/_berth/open?key=${'A'.repeat(43)}` }, 401],
    [{ path: `/_berth/open?ticket=${'A'.repeat(43)}` }, 401],
    [{ path: unused.pathname + unused.search, method: 'POST', headers: { origin: notebook.origin } }, 401],
    [{ path: unused.pathname, method: 'POST', body: unused.search.slice(1), headers: { origin: other.origin } }, 403],
    [
      { path: unused.pathname, method: 'POST', body: unused.search.slice(1), headers: { origin: `https://${HOST}` } },
      403,
    ],
    [{ path, cookie: notebook.cookie, headers: { origin: other.origin } }, 403],
    [{ path, cookie: notebook.cookie, headers: { origin: `https://${HOST}` } }, 403],
    [{ path, cookie: notebook.cookie, headers: { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' } }, 403],
    [{ path, cookie: notebook.cookie, headers: FRAMED }, 403],
    [{ path, cookie: notebook.cookie, headers: { host: HOST } }, 404],
    [{ path: '/sw.js', cookie: notebook.cookie, headers: { 'service-worker': 'script' } }, 403],
  ]
  for (const [asked, status] of guesses) {
    expect([asked, (await browse(notebook.origin, asked)).status]).toEqual([asked, status])
  }
  // A ticket is valid only at its own port, and is not consumed elsewhere.
  const { port } = new URL(other.origin)
  const moved = new URL(unused)
  moved.port = port
  expect((await browse(moved.href)).status).toBe(401)
  expect((await arrive(moved.href)).status).toBe(401)
  expect((await arrive(unused.href)).status).toBe(303)
  // Anybody may ask whether Berth serves the address, because the check of the address does this.
  const ready = await browse(notebook.origin, { path: '/_berth/ready' })
  expect([ready.status, ready.headers['berth-apps'], ready.cookies]).toEqual([204, '1', []])
  expect(seen).toEqual([])
})

test('a member who may use the session has an origin of their own, until the owner withdraws it', async () => {
  await mira.api.shareSession({ params: { id: session.id }, body: { email: bob.email, permission: 'view' } })
  expect(await refusal(open(bob))).toBe('forbidden')
  await mira.api.shareSession({ params: { id: session.id }, body: { email: bob.email, permission: 'use' } })
  const [theirs, hers] = [await enter(bob), await enter()]
  expect(theirs.origin).not.toBe(hers.origin)
  expect((await browse(hers.origin, { path: '/lab', cookie: theirs.cookie })).status).toBe(401)
  expect(await browse(theirs.origin, { path: '/lab', cookie: theirs.cookie })).toMatchObject({ body: 'jupyter here' })
  const socket = await socketAt(theirs.origin, theirs.cookie)
  const ended = closeOf(socket)
  await mira.api.unshareSession({ params: { id: session.id, userId: bob.id } })
  await ended
  // Each connection is cut separately, and a kept one may still accept a request while another is gone.
  const status = async () => (await browse(theirs.origin, { path: '/lab', cookie: theirs.cookie })).status
  await expect.poll(status).toSatisfy(code => code === 401 || code === 404)
  seen.length = 0
  expect([401, 404]).toContain(await status())
  expect(seen).toEqual([])
  expect(await browse(hers.origin, { path: '/lab', cookie: hers.cookie })).toMatchObject({ body: 'jupyter here' })
})

test('signing out ends what was opened with that sign-in, and no other', async () => {
  const again = await signIn(mira.email)
  const [first, second] = [await enter(), await enter(again)]
  expect(first.origin).toBe(second.origin)
  const socket = await socketAt(second.origin, second.cookie)
  const ended = closeOf(socket)
  const unused = await open(again)
  await again.api.logout()
  await ended
  expect((await browse(second.origin, { path: '/lab', cookie: second.cookie })).status).toBe(404)
  const korean = await browse(second.origin, { cookie: second.cookie, headers: { 'accept-language': 'ko' } })
  expect(korean.body).toContain('콘솔에서 앱을 여세요')
  expect((await arrive(unused.url)).status).toBe(401)
  expect(await browse(first.origin, { path: '/lab', cookie: first.cookie })).toMatchObject({ body: 'jupyter here' })
})

test('a head that is too long deletes no cookies at the port of an app: the console may have the same name', async () => {
  const { origin } = await enter()
  const planted = `a=${'x'.repeat(70_000)}`
  const own = { 'sec-fetch-site': 'same-origin' }
  for (const length of [1, 5]) {
    const answer = await browse(origin, { cookie: planted.repeat(length), headers: own })
    expect(answer.status).toBe(431)
    expect(answer.headers).not.toHaveProperty('clear-site-data')
  }
})

test('a port that goes from link to link forgets the app before, and lets none of its visitors in', async () => {
  await cluster.api.updateSettings({ body: { publishApps: true } })
  const params = { id: session.id, app: 'jupyter' }
  const before = await mira.api.publishApp({ params, body: { hours: 1, addresses: [] } })
  const { origin } = new URL(before.url ?? '')
  const door = await browse(before.url ?? '')
  // Storage and service workers of an earlier app at the port would have the rights of this visitor.
  expect(door).toMatchObject({ status: 303, headers: { 'clear-site-data': '"cache", "storage"' } })
  const { cookie } = door
  expect((await browse(before.url ?? '', { cookie })).headers).not.toHaveProperty('clear-site-data')
  expect((await browse(origin, { path: '/lab', cookie })).body).toBe('jupyter here')

  await mira.api.unpublishApp({ params: { publishedId: before.id } })
  const port = { port: before.port ?? 0 }
  const after = await mira.api.publishApp({
    params: { ...params, app: 'other' },
    body: { hours: 1, addresses: ['192.0.2.0/24'], password: 'Long-enough-1!', ...port },
  })
  expect(after.port).toBe(before.port)
  seen.length = 0
  // At once: the console may still remember the earlier app of the port, and have a connection to it until the cut arrives.
  for (let i = 0; i < 3; i++) expect((await browse(origin, { path: '/lab', cookie })).body).not.toContain('other')
  await expect.poll(async () => (await browse(origin, { path: '/lab', cookie })).status).toSatisfy(isRefusal)
  expect(seen.filter(({ app }) => app === 'other')).toEqual([])
})

test('the end of the session ends its apps, and gives their ports back', async () => {
  const { origin, cookie } = await enter()
  const socket = await socketAt(origin, cookie)
  const ended = closeOf(socket)
  await mira.api.deleteSession({ params: { id: session.id } })
  await ended
  await expect.poll(async () => [401, 404].includes((await browse(origin, { cookie })).status ?? 0)).toBe(true)
  await cluster.reach(session.id, 'TERMINATED')
  expect(await refusal(open())).toBe('session_not_running')
  // The last holder of the port is recorded: for some time nobody else gets it.
  const left = () => inDatabase(`select user_id from app_ports where port = ${new URL(origin).port}`)
  await expect.poll(left).toEqual([{ user_id: mira.id }])
  // More sessions than ports, one after the other.
  const fresh = await cluster.launch({}, mira.api)
  await cluster.reach(fresh.id, 'RUNNING')
  session = fresh
  const urls = new Map<number, string>()
  for (let port = 8001; port <= 8006; port++) urls.set(port, (await open(mira, `http-${port}`)).url)
  const seventh = () => open(mira, 'http-8007')
  // Six of twelve: the rest is for others. All six have an unused ticket.
  const full = await seventh().catch((error: unknown) => error)
  expect(full).toMatchObject({ code: 'public_port_taken', detail: { cause: 'ports_at_most', values: { count: 6 } } })
  await cluster.api.updateSettings({ body: { publishApps: true } })
  const link = () =>
    mira.api.publishApp({ params: { id: session.id, app: 'jupyter' }, body: { hours: 1, addresses: [] } })
  expect(await refusal(link())).toBe('public_port_taken')
  await mira.api.shareSession({ params: { id: session.id }, body: { email: bob.email, permission: 'use' } })
  expect(await refusal(open(bob))).toBe('ok')
  // An address that no browser uses is replaced; one that is open in a browser stays.
  const { origin: used, cookie: visit } = await enter(mira, 'http-8003')
  await browse(used, { path: '/lab', cookie: visit })
  expect((await arrive(urls.get(8004) ?? '')).status).toBe(303)
  expect(await refusal(seventh())).toBe('ok')
  expect(await refusal(seventh())).toBe('ok')
  expect((await open(mira, 'http-8003')).origin).toBe(used)
  expect(await refusal(open(mira, 'http-8004'))).toBe('public_port_taken')
})

test('a port that another program has is given to no app until it is free', async () => {
  await inDatabase('delete from app_ports')
  await cluster.api.updateSettings({ body: { publishApps: true } })
  const { port } = foreign.address() as AddressInfo
  const publish = async () => {
    const app = await mira.api.publishApp({ params: { id: session.id, app: 'jupyter' }, body: { hours: 1, port } })
    await mira.api.unpublishApp({ params: { publishedId: app.id } })
    return app.port
  }
  expect(await publish()).not.toBe(port)
  foreign.close()
  await expect.poll(publish).toBe(port)
})

test('somebody who takes and leaves port after port leaves those of others unused', async () => {
  await cluster.api.updateSettings({ body: { publishApps: true } })
  await inDatabase('delete from app_ports')
  const params = { id: session.id, app: 'jupyter' }
  for (let port = first; port < first + 12; port++) {
    const { id: publishedId } = await mira.api.publishApp({ params, body: { hours: 1, port } })
    await mira.api.unpublishApp({ params: { publishedId } })
  }
  await mira.api.shareSession({ params: { id: session.id }, body: { email: bob.email, permission: 'use' } })
  // A page of hers may still be open at a port that she has left, and could act in the next app at the port.
  const { origin } = await open(bob)
  expect(await inDatabase(`select port from app_ports where port = ${new URL(origin).port}`)).toEqual([])
})

test('the port of an app of another person’s session rests for the member who had it, too', async () => {
  await inDatabase('delete from app_ports')
  const own = Number(new URL((await open(mira)).origin).port)
  await inDatabase('delete from own_apps')
  expect(await inDatabase(`select of_other from app_ports where port = ${own}`)).toEqual([{ of_other: false }])
  await mira.api.shareSession({ params: { id: session.id }, body: { email: bob.email, permission: 'use' } })
  const port = Number(new URL((await open(bob)).origin).port)
  await inDatabase('delete from own_apps')
  // A page of the owner may still be open in the member's browser.
  expect(await inDatabase(`select of_other from app_ports where port = ${port}`)).toEqual([{ of_other: true }])
  expect(Number(new URL((await open(mira)).origin).port)).not.toBe(port)
  await inDatabase('delete from own_apps')
})

test.each([
  ['that others have used', `used_by_others_at = now()`],
  ['that an administrator launched', `launched_by = 'admin@example.org'`],
])('the port of an app of an own session %s rests for its owner, too', async (_, change) => {
  await inDatabase('delete from app_ports')
  await inDatabase(`update sessions set ${change} where id = '${session.id}'`)
  const port = Number(new URL((await open(mira)).origin).port)
  await inDatabase('delete from own_apps')
  // Others could have created the page that may still be open.
  expect(await inDatabase(`select of_other from app_ports where port = ${port}`)).toEqual([{ of_other: true }])
  // The page has everything that the session has, so the same session gets the port at once.
  expect(Number(new URL((await open(mira)).origin).port)).toBe(port)
})

test('an ended link gives its port back to the next app at once', async () => {
  await cluster.api.updateSettings({ body: { publishApps: true } })
  const body = { hours: 0.05, addresses: [] }
  for (let count = 0; count < 6; count++) {
    await mira.api.publishApp({ params: { id: session.id, app: 'jupyter' }, body })
  }
  expect(await refusal(open(mira))).toBe('public_port_taken')
  await inDatabase("update published_apps set expires_at = now() - interval '1 second'")
  expect(await refusal(open(mira))).toBe('ok')
})
