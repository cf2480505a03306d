import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { once } from 'node:events'
import { type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { type HostInfo, type Reply } from '#proxy/contract'
import { startWeb } from '../../../proxy/web/server.ts'
import { startHaproxy } from '../../fixtures/haproxy.ts'
import { ADMIN, CONSOLE_SECRET, startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { blocksOf, commandsIn } from '../../fixtures/page-blocks.ts'

/** A real HAProxy with TLS before a real console and manager: with the fields of docs/admin/agents.md, and without. */
const NAME = 'berth.example.org'
const CLIENT = '127.0.0.2'
const PAGE = new URL('../../../docs/admin/agents.md', import.meta.url)
/** The lines of the guide that make HAProxy send the fields. */
const FIELDS = blocksOf(await readFile(PAGE, 'utf8'), 'haproxy')
  .flatMap(commandsIn)
  .filter(line => /^(option forwardfor|http-request set-header)/.test(line))

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function setUp(frontend: readonly string[], trustedProxies: readonly string[]) {
  const manager = stack.use(await startTestManager())
  const { path: dataDir } = stack.use(await temporaryDirectory())
  const consoleDir = join(dataDir, 'renderer')
  await mkdir(consoleDir)
  await writeFile(join(consoleDir, 'index.html'), '<!doctype html><title>Console</title>')
  const warnings: string[] = []
  const config = {
    dataDir,
    consoleDir,
    port: 0,
    managerUrl: manager.url,
    allowedHosts: [NAME, 'inside.example.org'],
    trustedProxies,
    version: '1',
    consoleSecret: CONSOLE_SECRET,
  }
  const log = pino({ level: 'warn' }, { write: line => void warnings.push((JSON.parse(line) as { msg: string }).msg) })
  const web = stack.use(await startWeb(config, log))
  const haproxy = stack.use(await startHaproxy(web.port, frontend))

  /** Sends a request like a browser at the page of this origin. */
  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const sent = httpsRequest({
      host: '127.0.0.1',
      // Another address than HAProxy's own.
      localAddress: CLIENT,
      port: haproxy.port,
      servername: NAME,
      rejectUnauthorized: false,
      agent: false,
      method,
      path,
      headers: {
        host: NAME,
        'sec-fetch-site': 'same-origin',
        ...(method === 'GET' ? {} : { origin: `https://${NAME}`, 'content-type': 'application/json' }),
        ...headers,
      },
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return {
      status: response.statusCode,
      cookie: response.headers['set-cookie']?.[0] ?? '',
      body: await text(response),
    }
  }

  async function signIn(who: { email: string; password: string } = ADMIN) {
    const answer = await ask('POST', '/api/v1/auth/login', who)
    const { originSecret } = JSON.parse(answer.body) as { originSecret: string }
    const headers = { cookie: answer.cookie.split(';')[0] ?? '', 'x-berth-origin-secret': originSecret }
    const info = async () => {
      const { body } = await ask('POST', '/host/host/info', [], headers)
      const reply = JSON.parse(body) as Reply<HostInfo>
      if (!reply.ok) throw new Error(body)
      return reply.value
    }
    return { ...answer, headers, info }
  }
  return { web, manager, haproxy, warnings, ask, signIn }
}

test('behind HAProxy with all fields and named in the configuration, the cookie is Secure and the client is known', async () => {
  const { web, manager, warnings, ask, signIn } = await setUp(FIELDS, ['127.0.0.1'])
  await ask('GET', '/')
  const { cookie, headers, info } = await signIn()
  expect(cookie).toMatch(/^__Host-berth_443=.*; Secure$/)
  expect((await ask('GET', '/api/v1/me', undefined, headers)).status).toBe(200)
  expect(await info()).toMatchObject({ kind: 'remote', proxyFaults: [] })
  expect([warnings, web.proxyFaults()]).toEqual([[], []])
  const { api } = await manager.signIn()
  const { items } = await api.listAuditLog({ query: {} })
  expect(items.some(({ address }) => address === CLIENT)).toBe(true)
})

test.each([
  ['as it is, and not named', [], [], 'silent', /configure it to send X-Forwarded-For.*TRUSTED_PROXIES=127\.0\.0\.1/],
  ['as it is, and named', [], ['127.0.0.1'], 'fields_missing', /does not send X-Forwarded-For and X-Forwarded-Proto/],
  ['with option forwardfor alone', FIELDS.slice(0, 1), ['127.0.0.1'], 'fields_missing', /does not send/],
  ['with its fields, and not named', FIELDS, [], 'not_trusted', /TRUSTED_PROXIES=127\.0\.0\.1/],
  [
    'with the wrong scheme',
    ['option forwardfor', 'http-request set-header X-Forwarded-Proto http'],
    ['127.0.0.1'],
    'scheme_wrong',
    /sends X-Forwarded-Proto: http for browsers/,
  ],
] as const)('HAProxy %s is reported once in the log and to superadmins, and the cookie is Secure', async (...row) => {
  const [, frontend, trusted, code, words] = row
  const { web, manager, warnings, ask, signIn } = await setUp(frontend, trusted)
  for (let time = 0; time < 3; time++) await ask('GET', '/')
  const { cookie, headers, info } = await signIn()
  expect(cookie).toMatch(/^__Host-berth_443=.*; Secure$/)
  expect((await ask('GET', '/api/v1/me', undefined, headers)).status).toBe(200)
  expect(web.proxyFaults()).toMatchObject([{ code, peer: '127.0.0.1' }])
  expect(warnings).toEqual([expect.stringMatching(words)])
  // A client behind the proxy counts as remote, even if the proxy sends no fields.
  expect(await info()).toMatchObject({ kind: 'remote', proxyFaults: [{ code }] })
  const user = { email: 'mira@example.org', password: 'Their-own-pass-1' }
  const { api } = await manager.signIn()
  await api.createUser({ body: { mustChangePassword: false, ...user, name: 'Mira' } })
  expect(await (await signIn(user)).info()).not.toHaveProperty('proxyFaults')
})

test('an HAProxy that changes the Host field is reported as the reason why nobody can sign in', async () => {
  const { web, ask, warnings } = await setUp([...FIELDS, 'http-request set-header Host inside.example.org'], [])
  const answer = await ask('POST', '/api/v1/auth/login', ADMIN)
  expect(JSON.parse(answer.body)).toMatchObject({ code: 'foreign_origin', detail: /changes the Host field/ })
  expect(web.proxyFaults()).toMatchObject([{ code: 'host_changed' }])
  expect(warnings).toEqual([expect.stringMatching(/changes the Host field/)])
})
