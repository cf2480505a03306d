import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type ApiClient, parseAppsAddress, type Session } from '#manager/contract'
import { startProxy } from '#proxy'
import { startWeb } from '../../../proxy/web/server.ts'
import { startAppStreams } from '../../fixtures/app-streams.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { scriptedEngine, startMeshAgent } from '../../fixtures/mesh-agent.ts'
import { PYTHON } from '../../fixtures/scripted-agent.ts'
import { type SessionsCluster, startSessionsCluster, USER_PASSWORD } from '../../fixtures/sessions-cluster.ts'

/**
 * An app that refuses an upload before it has read it, and closes: its kernel then resets the connection. The client still receives the
 * refusal, by every way through console or `berth app`, manager and agent, and sees no reset.
 */

const SECRET = 'the-secret-of-console-and-manager-in-tests'
const EMAIL = 'mira@example.org'
const TIMES = 10
/** More than the buffers of the way hold, so that the app closes while the client still sends. */
const BODY = Buffer.alloc(3_000_000, 'x')
const ANSWER = 'HTTP/1.1 413 Payload Too Large\r\nContent-Length: 7\r\nConnection: close\r\n\r\ntoo big'

let stack: AsyncDisposableStack
let cluster: SessionsCluster
let mira: ApiClient
let session: Session
let webPort: number

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const app = createServer(socket => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.pause().end(ANSWER, () => socket.destroy()))
  }).listen(0, '127.0.0.1')
  await once(app, 'listening')
  stack.defer(() => void app.close())
  const appsAddress = parseAppsAddress('http://*.apps.example.org')
  if (!appsAddress) throw new Error('the address is one')
  cluster = stack.use(await startSessionsCluster(undefined, { consoleSecret: SECRET, appsAddress }))
  await cluster.api.updateSettings({ body: { publishApps: true, publishMaxHours: 24 } })
  const streams = stack.use(startAppStreams({ 'http-9000': (app.address() as AddressInfo).port }))
  const home = stack.use(await temporaryDirectory()).path
  const engine = scriptedEngine({ images: [PYTHON], name: 'agent-1' })
  engine.script.start_app = () => ({ inject: null })
  const { join } = await cluster.manager.createJoinToken()
  stack.use(await startMeshAgent({ home, engine, join, serve: streams.serve.bind(streams) }))
  const directory = stack.use(await temporaryDirectory()).path
  const web = stack.use(
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
        appsAddress,
        trustedProxies: [],
      },
      pino({ level: 'silent' }),
    ),
  )
  webPort = web.port
  mira = await cluster.addUser(EMAIL)
  session = await cluster.launch({ name: 'train' }, mira)
  const status = async () => (await mira.getSession({ params: { id: session.id } })).status
  await vi.waitFor(async () => expect(await status()).toBe('RUNNING'), { timeout: 120_000 })
})
afterAll(() => stack.disposeAsync())

/** Uploads to one address, and reads until the other side ends. @throws for a reset */
async function upload(port: number, host: string, cookie: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  // An upload that was read completely before its answer keeps the connection open otherwise.
  const fields = [`Host: ${host}`, `Cookie: ${cookie}`, `Content-Length: ${BODY.length}`, 'Connection: close']
  socket.write(`POST /upload HTTP/1.1\r\n${fields.join('\r\n')}\r\n\r\n`)
  socket.write(BODY)
  let text = ''
  socket.on('data', chunk => (text += String(chunk)))
  await once(socket, 'end')
  socket.destroy()
  return text
}

/** The cookie that a visitor gets from a link. */
async function letIn(port: number, url: string): Promise<{ host: string; cookie: string }> {
  const { host, pathname, search } = new URL(url)
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  let text = ''
  socket.on('data', chunk => (text += String(chunk)))
  await once(socket, 'close')
  return { host, cookie: /^set-cookie: ([^;]+)/im.exec(text)?.[1] ?? '' }
}

async function byLink() {
  const { url } = await mira.publishApp({ params: { id: session.id, app: 'http-9000' }, body: {} })
  return { port: webPort, ...(await letIn(webPort, url ?? '')) }
}

async function byProgram() {
  const { token } = await mira.login({ body: { email: EMAIL, password: USER_PASSWORD, kind: 'token' } })
  const dataDir = stack.use(await temporaryDirectory()).path
  const { user } = await mira.me()
  const credentials = () => Promise.resolve({ authorization: `Bearer ${token}` })
  const options = { managerUrl: cluster.url, credentials, dataDir, userId: user.id, sshDirectory: `${dataDir}/.ssh` }
  const proxy = stack.use(await startProxy(options))
  const { url, tunnel } = await proxy.tunnel.openApp({ sessionId: session.id, app: 'http-9000' })
  return { port: tunnel.port, ...(await letIn(tunnel.port, url)) }
}

test.each([
  ['a link of the console', byLink],
  ['berth app', byProgram],
] as const)('by %s the refusal arrives each time', async (_, open) => {
  const { port, host, cookie } = await open()
  expect(cookie).not.toBe('')
  for (let time = 0; time < TIMES; time++) {
    const answer = await upload(port, host, cookie)
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*too big$/)
  }
})
