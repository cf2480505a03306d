import { once } from 'node:events'
import { createServer, type IncomingMessage, request as httpRequest, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createClient, ORIGIN_SECRET_HEADER, type Session } from '#manager/contract'
import { type Reply } from '#proxy/contract'
import { startWeb, type Web } from '../../../proxy/web/server.ts'
import { startAppStreams } from '../../fixtures/app-streams.ts'
import { apiOf, temporaryDirectory } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

/** Apps opened by browsers on the console's computer, when the sign-in that opened them ends and another one of the person does not. */

const SECRET = 'the-secret-of-console-and-manager-in-tests'
const EMAIL = 'mira@example.org'

let stack: AsyncDisposableStack
let cluster: SessionsCluster
let web: Web
let session: Session

function anApp(): Server {
  return createServer((_request, response) => void response.end('jupyter here')).listen(0, '127.0.0.1')
}

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  cluster = stack.use(await startSessionsCluster(undefined, { consoleSecret: SECRET }))
  const notebook = anApp()
  await once(notebook, 'listening')
  stack.defer(() => notebook.close().closeAllConnections())
  const engine = scriptedEngine({ images: [PYTHON], name: 'agent-1' })
  engine.script.start_app = () => ({ inject: null })
  const streams = stack.use(startAppStreams({ jupyter: (notebook.address() as AddressInfo).port }))
  const home = stack.use(await temporaryDirectory()).path
  const { join } = await cluster.manager.createJoinToken()
  stack.use(await startMeshAgent({ home, engine, join, serve: streams.serve.bind(streams) }))
  const directory = stack.use(await temporaryDirectory()).path
  const paths = { dataDir: directory, consoleDir: directory, sshDirectory: `${directory}/.ssh`, version: '0' }
  const names = { managerUrl: cluster.url, allowedHosts: [], consoleSecret: SECRET, localProof: 'off' as const }
  web = stack.use(await startWeb({ ...paths, ...names, port: 0 }, pino({ level: 'silent' })))
  await cluster.addUser(EMAIL)
  const { token } = await apiOf(cluster.url).login({ body: { email: EMAIL, password: USER_PASSWORD, kind: 'token' } })
  const api = apiOf(cluster.url, token ?? '')
  session = await cluster.launch({}, api)
  const status = async () => (await api.getSession({ params: { id: session.id } })).status
  await vi.waitFor(async () => expect(await status()).toBe('RUNNING'), { timeout: 120_000 })
})
afterAll(() => stack.disposeAsync())

/** Signs in like a browser on the console's computer. */
async function signIn(password = USER_PASSWORD) {
  const origin = `http://localhost:${web.port}`
  const login = await fetch(`${origin}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin },
    body: JSON.stringify({ email: EMAIL, password, kind: 'browser' }),
  })
  const { originSecret } = (await login.json()) as { originSecret: string }
  const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const headers = { cookie, [ORIGIN_SECRET_HEADER]: originSecret, origin }
  const api = createClient({
    baseUrl: origin,
    fetch: (url, init) => fetch(url, init as RequestInit),
    headers: () => headers,
  })
  return {
    api,
    async host(path: string, ...args: unknown[]) {
      const json = { 'content-type': 'application/json' }
      const body = JSON.stringify(args)
      const answer = await fetch(`${origin}/host/${path}`, { method: 'POST', headers: { ...headers, ...json }, body })
      return (await answer.json()) as Reply<unknown>
    },
  }
}
type Browser = Awaited<ReturnType<typeof signIn>>

async function visit(url: string, cookie?: string) {
  const { host, port, pathname, search } = new URL(url)
  const headers = { host, ...(cookie === undefined ? {} : { cookie }) }
  const sent = httpRequest({ host: '127.0.0.1', port, path: pathname + search, agent: false, headers }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const set = response.headers['set-cookie']?.[0]?.split(';')[0]
  return { status: response.statusCode ?? 0, cookie: set ?? '', body: await text(response) }
}

/** Opens the app in a browser. */
async function enter(browser: Browser) {
  const opened = await browser.host('tunnel/openApp', { sessionId: session.id, app: 'jupyter' })
  if (!opened.ok) throw new Error(opened.error.message)
  const { url } = opened.value as { url: string }
  const { status, cookie } = await visit(url)
  expect(status).toBe(303)
  const page = `${new URL(url).origin}/lab`
  expect(await visit(page, cookie)).toMatchObject({ status: 200, body: 'jupyter here' })
  return { page, cookie }
}

/** Whether the app ends within the seconds that are documented for tunnels. */
const ends = async ({ page, cookie }: Awaited<ReturnType<typeof enter>>) => {
  const statusOf = () =>
    visit(page, cookie).then(
      ({ status }) => status,
      () => 'closed',
    )
  await expect.poll(statusOf).toBe('closed')
}

test('an app ends with the sign-in that opened it, also while the person is signed in elsewhere', async () => {
  const [own, stranger] = [await signIn(), await signIn()]
  const opened = await enter(stranger)
  expect(await own.host('tunnel/list')).toMatchObject({ ok: true, value: [{ app: { name: 'jupyter' } }] })
  await own.api.endOtherLogins()
  await expect(stranger.api.me()).rejects.toMatchObject({ code: 'not_signed_in' })
  await ends(opened)
})

test('an app that several sign-ins have opened ends with any of them, and opens again with another cookie', async () => {
  const [own, stranger] = [await signIn(), await signIn()]
  await enter(own)
  const opened = await enter(stranger)
  await own.api.endOtherLogins()
  await ends(opened)
  const again = await enter(own)
  expect((await visit(again.page, opened.cookie)).status).toBe(403)
})

test('an app whose sign-in has ended does not go on with the next one', async () => {
  const stranger = await signIn()
  const opened = await enter(stranger)
  await stranger.api.logout()
  const own = await signIn()
  expect(await own.host('tunnel/list')).toEqual({ ok: true, value: [] })
  await ends(opened)
})

test('an app stays when another sign-in of the person ends', async () => {
  const [own, other] = [await signIn(), await signIn()]
  const { page, cookie } = await enter(own)
  expect(await other.host('tunnel/list')).toMatchObject({ ok: true })
  await other.api.logout()
  expect(await other.host('tunnel/list')).toMatchObject({ code: 'not_signed_in' })
  expect((await visit(page, cookie)).status).toBe(200)
})
