import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type AccessTokenSpec, type ApiClient, type Session, type TokenScope } from '#manager/contract'
import { startWeb, type Web } from '../../../proxy/web/server.ts'
import { startAppStreams } from '../../fixtures/app-streams.ts'
import { apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { startMeshAgent, scriptedEngine } from '../../fixtures/mesh-agent.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Web apps for programs: from a request with an access token at the console to the app. */

const SECRET = 'the-secret-of-console-and-manager-in-tests'

let stack: AsyncDisposableStack
let cluster: SessionsCluster
let web: Web
let person: ApiClient
let other: ApiClient
let session: Session
let launched: Promise<Session> | undefined
/** Requests that the app got. */
const seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []
afterEach(() => void seen.splice(0))

/** Frameworks build whole addresses with the name by which they were called. */
const LOCATIONS: Record<string, string> = {
  '/moved-wholly': 'http://localhost/there?x=1',
  '/moved-beside': 'there',
  '/moved-away': 'https://evil.example.org/take',
  '/moved-away/2': '//evil.example.org/take',
  '/moved-away/3': '/\\evil.example.org/../../../..',
  '/moved-away/4': 'http://localhost:9/take',
  '/moved-away/5': '/../../../api/v1/me',
  '/moved-away/6': '../../../../api/v1/me',
  '/moved-away/7': '%2E%2e/.%2e/../../api/v1/me',
  // Programs leave tabs out of an address.
  '/moved-away/8': 'ht\ttps://evil.example.org/take',
  '/moved-away/9': '.\t./.\t./../../api/v1/me',
}

function anApp(): Server {
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const { method = '', url = '', headers } = request
      seen.push({ method, url, headers, body })
      response.writeHead(url.startsWith('/moved') ? 302 : 200, {
        'content-type': 'text/html',
        'access-control-allow-origin': '*',
        'strict-transport-security': 'max-age=0',
        'set-cookie': ['sid=1; Path=/; Domain=example.org', 'berth_8400=planted; Path=/'],
        location: LOCATIONS[url] ?? '/there',
      })
      response.end('the app')
    })
  })
  server.on('upgrade', (request: IncomingMessage, socket: Socket) => {
    seen.push({ method: 'UPGRADE', url: request.url ?? '', headers: request.headers, body: '' })
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    socket.pipe(socket)
  })
  return server.listen(0, '127.0.0.1')
}

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  cluster = stack.use(await startSessionsCluster(undefined, { consoleSecret: SECRET }))
  const server = anApp()
  await once(server, 'listening')
  stack.defer(() => server.close().closeAllConnections())
  const { port } = server.address() as AddressInfo
  const engine = scriptedEngine({ images: [PYTHON], name: 'agent-1' })
  engine.script.start_app = ({ app }) => ({
    inject: app === 'jupyter' ? { header: 'authorization', value: 'token of-the-app' } : null,
  })
  const streams = stack.use(startAppStreams({ jupyter: port, 'http-8000': port }))
  const home = stack.use(await temporaryDirectory()).path
  const { join } = await cluster.manager.createJoinToken()
  stack.use(await startMeshAgent({ home, engine, join, serve: streams.serve.bind(streams) }))
  const directory = stack.use(await temporaryDirectory()).path
  const paths = { dataDir: directory, consoleDir: directory, sshDirectory: `${directory}/.ssh`, version: '0' }
  const config = { ...paths, managerUrl: cluster.url, consoleSecret: SECRET, allowedHosts: [], port: 0 }
  web = stack.use(await startWeb(config, pino({ level: 'silent' })))
  person = await cluster.addUser('mira@example.org')
  other = await cluster.addUser('bob@example.org')
})
beforeEach(async () => {
  launched ??= cluster.launch({ name: 'serving' }, person)
  session = await launched
  await cluster.reach(session.id, 'RUNNING')
})
afterAll(() => stack.disposeAsync())

async function tokenFor(app: string, of = person, more: Partial<AccessTokenSpec> = {}) {
  const body = { name: 'client', scopes: ['apps' as TokenScope], app: { sessionId: session.id, app }, ...more }
  return await of.createAccessToken({ body })
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const at = (path: string, id: string = session.id) => `${web.url}/apps/${id}/${path}`
const codeOf = async (reply: Response) => [reply.status, ((await reply.json()) as { code: string }).code]

test('a program with a token for an app reaches it, and the app gets everything but the token', async () => {
  const { token } = await tokenFor('http-8000')
  const headers = {
    ...bearer(token),
    'x-real-ip': '1.2.3.4',
    'x-forwarded-for': '1.2.3.4',
    // An app that gets fields as variables takes `_` for `-`.
    x_forwarded_for: '1.2.3.4',
    cookie: 'a=1; berth_8400=x',
  }
  const reply = await fetch(at('http-8000/v1/chat?stream=1'), { method: 'POST', headers, body: 'hello' })
  expect([reply.status, await reply.text()]).toEqual([200, 'the app'])
  const [got] = seen
  expect(got).toMatchObject({ method: 'POST', url: '/v1/chat?stream=1', body: 'hello' })
  expect(JSON.stringify(got)).not.toContain(token)
  expect(got?.headers).toMatchObject({
    host: 'localhost',
    cookie: 'a=1',
    'x-forwarded-prefix': `/apps/${session.id}/http-8000`,
    'x-forwarded-for': expect.stringMatching(/^(127\.0\.0\.1|::1)$/) as string,
  })
  expect(JSON.stringify(got)).not.toContain('1.2.3.4')
  expect(got?.headers).not.toHaveProperty('authorization')
  // Nothing of the answer reaches further than its own path.
  expect(Object.fromEntries(reply.headers)).toMatchObject({
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    'set-cookie': `sid=1; Path=/apps/${session.id}/http-8000/`,
  })
  for (const name of ['access-control-allow-origin', 'strict-transport-security'])
    expect(reply.headers.get(name), name).toBeNull()
  const moved = await fetch(at('http-8000/moved'), { headers: bearer(token), redirect: 'manual' })
  expect(moved.headers.get('location')).toBe(`/apps/${session.id}/http-8000/there`)
  const wholly = await fetch(at('http-8000/moved-wholly'), { headers: bearer(token), redirect: 'manual' })
  expect(wholly.headers.get('location')).toBe(`/apps/${session.id}/http-8000/there?x=1`)
})

test('a redirect that leads elsewhere is told, and never followed with the token', async () => {
  const { token } = await tokenFor('http-8000')
  const below = `/apps/${session.id}/http-8000`
  const own = `${web.url}${below}/own`
  LOCATIONS['/moved-own'] = own
  for (const [path, location, elsewhere] of [
    ['moved-beside', `${below}/there`, null],
    ['moved-own', `${below}/own`, null],
    ['moved-away', null, 'https://evil.example.org/take'],
    ['moved-away/2', null, '//evil.example.org/take'],
    ['moved-away/3', null, '/\\evil.example.org/../../../..'],
    ['moved-away/4', null, 'http://localhost:9/take'],
    ['moved-away/5', `${below}/api/v1/me`, null],
    ['moved-away/6', `${below}/api/v1/me`, null],
    ['moved-away/7', `${below}/api/v1/me`, null],
    ['moved-away/8', null, 'ht\ttps://evil.example.org/take'],
    ['moved-away/9', `${below}/api/v1/me`, null],
  ] as const) {
    const reply = await fetch(at(`http-8000/${path}`), { headers: bearer(token), redirect: 'manual' })
    expect(reply.status, path).toBe(302)
    expect([reply.headers.get('location'), reply.headers.get('berth-location')], path).toEqual([location, elsewhere])
  }
})

test('an app has an Authorization of its own beside Berth-Authorization, and its secret from Berth', async () => {
  const { token } = await tokenFor('http-8000')
  const both = { 'berth-authorization': `Bearer ${token}`, authorization: 'Bearer of-the-app' }
  expect((await fetch(at('http-8000'), { headers: both })).status).toBe(200)
  expect(seen[0]).toMatchObject({ url: '/', headers: { authorization: 'Bearer of-the-app' } })
  expect(seen[0]?.headers).not.toHaveProperty('berth-authorization')
  // The same token in both places goes to nobody.
  await fetch(at('http-8000'), { headers: { ...both, ...bearer(token) } })
  expect(JSON.stringify(seen)).not.toContain(token)
  const jupyter = await tokenFor('jupyter')
  await fetch(at('jupyter/api/status'), { headers: bearer(jupyter.token) })
  expect(seen.at(-1)?.headers.authorization).toBe('token of-the-app')
})

test('a WebSocket passes, and closes with the end of the token, which is refused from then on', async () => {
  const { token, id } = await tokenFor('http-8000')
  const socket = connect(web.port, '127.0.0.1')
  socket.on('error', () => undefined)
  const head = ['Host: localhost', 'Connection: Upgrade', 'Upgrade: websocket', `Authorization: Bearer ${token}`]
  socket.write(
    `GET /apps/${session.id}/http-8000/ws HTTP/1.1\r\n${head.join('\r\n').replace('localhost', `localhost:${web.port}`)}\r\n\r\n`,
  )
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 101 /)
  socket.write('ping')
  expect(String((await once(socket, 'data'))[0])).toBe('ping')
  expect(JSON.stringify(seen)).not.toContain(token)
  expect((await fetch(at('http-8000'), { headers: bearer(token) })).status).toBe(200)
  const closed = once(socket, 'close')
  await person.endAccessToken({ params: { id } })
  await closed
  expect(await codeOf(await fetch(at('http-8000'), { headers: bearer(token) }))).toEqual([401, 'not_signed_in'])
})

test('a token reaches its app alone, or web apps of sessions that it launched; others and browsers are refused before the app', async () => {
  const { token } = await tokenFor('http-8000')
  const { token: wide } = await person.createAccessToken({
    body: { name: 'all', scopes: ['read', 'launch', 'enter', 'files', 'apps'] },
  })
  const { token: narrow } = await person.createAccessToken({
    body: { name: 'few', scopes: ['read', 'launch', 'enter', 'files'] },
  })
  const { token: signIn } = await apiOf(cluster.url).login({
    body: { email: 'mira@example.org', password: 'Their-own-pass-1', kind: 'token' },
  })
  const tries: [string, Record<string, string>, number, string][] = [
    ['jupyter/', bearer(token), 403, 'forbidden'],
    ['http-8000/', bearer(wide), 403, 'forbidden'],
    ['http-8000/', bearer(narrow), 403, 'forbidden'],
    ['http-8000/', bearer(signIn ?? ''), 403, 'forbidden'],
    ['http-8000/', bearer(`berth_${'x'.repeat(43)}`), 401, 'not_signed_in'],
    ['http-8000/', {}, 401, 'not_signed_in'],
    ['http-8000/', { authorization: `Basic ${btoa(`x:${token}`)}` }, 401, 'not_signed_in'],
    ['http-8000/', { ...bearer(token), origin: 'null' }, 403, 'foreign_origin'],
    ['http-8000/', { ...bearer(token), 'sec-fetch-site': 'none' }, 403, 'foreign_origin'],
    ['http-8000/', { ...bearer(token), 'sec-fetch-site': 'same-origin' }, 403, 'foreign_origin'],
    ['', bearer(token), 404, 'not_found'],
  ]
  for (const [path, headers, ...answer] of tries) {
    const reply = await fetch(at(path), { headers })
    expect(reply.headers.get('access-control-allow-origin')).toBeNull()
    expect([path, Object.keys(headers), ...(await codeOf(reply))]).toEqual([path, Object.keys(headers), ...answer])
  }
  const preflight = { origin: web.url, 'access-control-request-headers': 'authorization' }
  expect((await fetch(at('http-8000/'), { method: 'OPTIONS', headers: preflight })).status).toBe(403)
  expect(seen).toEqual([])
  const own = await cluster.launch({ name: 'its-own' }, apiOf(cluster.url, wide))
  await cluster.reach(own.id, 'RUNNING')
  expect((await fetch(at('http-8000/', own.id), { headers: bearer(wide) })).status).toBe(200)
  expect(await codeOf(await fetch(at('sshd/', own.id), { headers: bearer(wide) }))).toEqual([400, 'bad_request'])
})

test('a token for an app needs the right to open it, names a web app, and may do nothing else', async () => {
  await expect(tokenFor('http-8000', other)).rejects.toMatchObject({ code: 'session_not_found' })
  await expect(tokenFor('tcp-5432')).rejects.toMatchObject({ code: 'bad_request' })
  await expect(tokenFor('nothing')).rejects.toMatchObject({ code: 'app_not_found' })
  await expect(tokenFor('http-8000', person, { scopes: ['apps', 'read'] })).rejects.toMatchObject({
    code: 'bad_request',
  })
  const { token, app } = await tokenFor('http-8000')
  expect(app).toEqual({ sessionId: session.id, app: 'http-8000', sessionName: 'serving' })
  const api = apiOf(cluster.url, token)
  await expect(api.createGrant({ params: { id: session.id, app: 'http-8000' } })).rejects.toMatchObject({
    code: 'forbidden',
  })
  await expect(api.listSessions()).rejects.toMatchObject({ code: 'forbidden' })
})

test('the use of an app by a program is in the audit log, with the name of the token and the address of the program', async () => {
  const { token, id } = await tokenFor('http-8000', person, { name: 'the chat client' })
  for (let i = 0; i < 3; i++) await fetch(at('http-8000'), { headers: bearer(token) })
  const { items } = await cluster.api.listAuditLog({ query: { actor: 'mira@example.org', limit: 50 } })
  const rows = items.filter(row => row.tokenId === id)
  expect(rows[0]?.address).toMatch(/^(127\.0\.0\.1|::1)$/)
  expect(rows.map(({ action, result, token: name, target }) => [action, result, name, target])).toEqual([
    ['grantToProgram', 'ok', 'the chat client', `session:${session.id}`],
  ])
})

test('a session that has ended is said', async () => {
  const gone = await cluster.launch({ name: 'gone' }, person)
  await cluster.reach(gone.id, 'RUNNING')
  const { token } = await tokenFor('http-8000', person, { app: { sessionId: gone.id, app: 'http-8000' } })
  expect((await fetch(at('http-8000', gone.id), { headers: bearer(token) })).status).toBe(200)
  await person.deleteSession({ params: { id: gone.id } })
  await cluster.reach(gone.id, 'TERMINATED')
  await expect
    .poll(async () => codeOf(await fetch(at('http-8000', gone.id), { headers: bearer(token) })))
    .toEqual([409, 'session_not_running'])
})
