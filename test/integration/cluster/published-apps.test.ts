import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type AddressInfo } from 'node:net'
import { join as joinPath } from 'node:path'
import { type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { defined } from '#base/defined'
import { type ApiClient, parseAppsAddress, type SessionId } from '#manager/contract'
import { startWeb, type Web } from '../../../proxy/web/server.ts'
import { startAppStreams } from '../../fixtures/app-streams.ts'
import { type Authority, createAuthority } from '../../fixtures/authority.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { startManagers } from '../../fixtures/managers.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'

/** Two managers, each with a console that speaks TLS, and an app that is published at a name below a wildcard. */

const SECRET = 'the-secret-of-console-and-manager-in-tests'
const ADDRESS = parseAppsAddress('https://*.apps.example.org')
if (!ADDRESS) throw new Error('the address is one')
const LIVE = { timeout: 120_000 }

let stack: AsyncDisposableStack
let authority: Authority
let consoles: Web[]
let apis: ApiClient[]
let id: SessionId
beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const managers = stack.use(await startManagers())
  const config = { consoleSecret: SECRET, appsAddress: ADDRESS }
  const running = [await managers.start(config), await managers.start(config)]
  apis = await Promise.all(running.map(async manager => (await managers.admin(manager)).api))
  await apis[0]!.updateSettings({ body: { publishApps: true } })

  const app = createServer((request, response) => {
    response.writeHead(200)
    if (request.url === '/slow') response.write('begun')
    else response.end('the app')
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  stack.defer(() => {
    app.close().closeAllConnections()
  })
  const streams = stack.use(startAppStreams({ jupyter: (app.address() as AddressInfo).port }))
  const { path: home } = stack.use(await temporaryDirectory())
  const { join } = await running[0]!.createJoinToken()
  const engine = scriptedEngine()
  engine.script.start_app = () => ({ inject: null })
  const serve = streams.serve.bind(streams)
  const agent = stack.use(await startMeshAgent({ home, engine, join, serve }))
  await vi.waitFor(() => expect(agent.connectedTo.size).toBe(2), LIVE)

  authority = stack.use(await createAuthority(['*.apps.example.org']))
  const { path: files } = stack.use(await temporaryDirectory())
  const [certificate, key] = [joinPath(files, 'cert.pem'), joinPath(files, 'key.pem')]
  await writeFile(certificate, authority.server.cert)
  await writeFile(key, authority.server.key, { mode: 0o600 })
  const names = ['localhost', '*.apps.example.org']
  consoles = []
  for (const { url } of running) {
    const { path: dataDir } = stack.use(await temporaryDirectory())
    const more = { allowedHosts: [], consoleDir: dataDir, version: '0', sshDirectory: joinPath(dataDir, '.ssh') }
    const tls = { source: 'files', names, certificate, key } as const
    const settings = { dataDir, port: 0, managerUrl: url, consoleSecret: SECRET, appsAddress: ADDRESS, tls, ...more }
    consoles.push(stack.use(await startWeb(settings, pino({ level: 'silent' }))))
  }

  const { items } = await apis[0]!.createSession({ body: { image: 'berth/python:3.13' } })
  id = items[0]?.id as SessionId
  const status = async () => (await apis[1]!.getSession({ params: { id } })).status
  await vi.waitFor(async () => expect(await status()).toBe('RUNNING'), LIVE)
})
afterAll(() => stack.disposeAsync())

/** A visitor whose browser trusts the authority, and checks the name as browsers do. */
async function open(web: Web | undefined, link: string, path?: string, cookie?: string): Promise<IncomingMessage> {
  const { host, pathname, search } = new URL(link)
  const sent = httpsRequest({
    host: '127.0.0.1',
    port: web?.port,
    servername: host,
    ca: authority.ca,
    agent: false,
    path: path ?? pathname + search,
    headers: { host, ...defined({ cookie }) },
  })
  sent.on('error', () => undefined).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response
}

const closeOf = (stream: Readable) => new Promise<void>(done => void stream.once('close', done))

test('visitors reach a published app through whichever console and manager they hit, over TLS, and all lose it at once', async () => {
  const { items: none } = await apis[1]!.listPublishedApps()
  expect(none).toEqual([])
  const app = await apis[0]!.publishApp({ params: { id, app: 'jupyter' }, body: {} })
  const link = app.url ?? ''
  expect(link).toMatch(/^https:\/\/[a-z2-7]{16}\.apps\.example\.org\//)
  const door = await open(consoles[0], link)
  door.resume()
  expect(door.statusCode).toBe(303)
  const [set = ''] = door.headers['set-cookie'] ?? []
  expect(set).toMatch(/^__Host-berth_visit_.*; Secure/)
  const [cookie] = set.split(';')
  const slow: IncomingMessage[] = []
  for (const web of consoles) {
    // The visit that began at one console continues at the other, because a load balancer may send it there.
    const inside = await open(web, link, '/lab', cookie)
    expect([inside.statusCode, await text(inside)]).toEqual([200, 'the app'])
    const answer = await open(web, link, '/slow', cookie)
    answer.on('error', () => undefined).resume()
    slow.push(answer)
  }
  expect(slow.map(({ statusCode }) => statusCode)).toEqual([200, 200])
  const ends = Promise.all(slow.map(closeOf))
  await apis[1]!.unpublishApp({ params: { publishedId: app.id } })
  await ends
  for (const web of consoles) {
    await expect.poll(async () => (await open(web, link, '/lab', cookie)).resume().statusCode, LIVE).toBe(410)
  }
})

test('a session that ends takes its links along at every console', async () => {
  const app = await apis[1]!.publishApp({ params: { id, app: 'jupyter' }, body: {} })
  const link = app.url ?? ''
  const door = await open(consoles[1], link)
  const cookie = door.resume().headers['set-cookie']?.[0]?.split(';')[0]
  const slow = await Promise.all(consoles.map(web => open(web, link, '/slow', cookie)))
  for (const answer of slow) answer.on('error', () => undefined).resume()
  const ends = Promise.all(slow.map(closeOf))
  await apis[0]!.deleteSession({ params: { id } })
  await ends
  for (const web of consoles) {
    await expect.poll(async () => (await open(web, link)).resume().statusCode, LIVE).toBe(410)
  }
})
