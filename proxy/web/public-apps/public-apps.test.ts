import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { parseAppsAddress } from '#manager/contract'
import { createHttpServer } from '../../http/create-server.ts'
import { silentLog } from '../../log.ts'
import { createPublicApps } from './public-apps.ts'

const NAME = 'abcdefghijklmnop'
const OTHER = 'bcdefghijklmnopq'
const KNOWN = new Set([NAME, OTHER])
/** A name that no app has. */
const strangeName = (index: number) =>
  `stranger${String(index).replaceAll(/./g, digit => 'abcdefghij'[Number(digit)] ?? '')}`.padEnd(16, 'z')
const SERVED = {
  ...{ id: '01900000-0000-7000-8000-000000000001', name: NAME, port: null, admits: 'links', needsPassword: false },
  ...{ sessionId: '01900000-0000-7000-8000-000000000002', sessionName: 'train', app: 'web', title: 'Web', path: '/' },
  ...{ addresses: [], expiresAt: '2100-01-01T00:00:00.000Z', visitSecret: 's'.repeat(43) },
}

/** Addresses of apps in front of a manager that answers questions about its apps, unless they are `held`. */
async function setUp(stack: AsyncDisposableStack) {
  let asked = 0
  const held = new Set<string>()
  const manager = createServer(({ url }, response) => {
    const name = url?.split('/').at(-1) ?? ''
    if (KNOWN.has(name) && !held.has(name))
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ ...SERVED, name }))
    // Questions of strangers are not answered.
    else asked++
  }).listen(0, '127.0.0.1')
  await once(manager, 'listening')
  stack.defer(() => manager.close().closeAllConnections())
  const address = parseAppsAddress('http://*.apps.example.org')
  if (!address) throw new Error('the address is one')
  const clock = { nowMs: 0 }
  const managerUrl = `http://127.0.0.1:${(manager.address() as AddressInfo).port}`
  const apps = stack.use(
    createPublicApps({
      ...{ address, managerUrl, consoleSecret: 's'.repeat(32), trustedProxies: ['127.0.0.1'], log: silentLog },
      now: () => clock.nowMs,
    }),
  )
  const server = createHttpServer({
    onRequest: (asking, response) => apps.request(apps.placeOf(asking.headers.host) ?? '', asking, response),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => server.close().closeAllConnections())

  const ask = (name: string, from = '203.0.113.7', more = {}) => {
    const { port } = server.address() as AddressInfo
    const headers = { host: `${name}.apps.example.org`, 'x-forwarded-for': from, ...more }
    return request({ host: '127.0.0.1', port, agent: false, headers })
      .on('error', () => undefined)
      .end()
  }
  const statusOf = async (name: string) =>
    ((await once(ask(name), 'response')) as [IncomingMessage])[0].resume().statusCode
  return { ask, statusOf, held, clock, asked: () => asked }
}

test('names that strangers make up keep nobody from an app, known here or not', async () => {
  await using stack = new AsyncDisposableStack()
  const { ask, statusOf, clock, asked } = await setUp(stack)
  const refused = await statusOf(NAME)
  for (let index = 0; index < 40; index++) ask(strangeName(index), `2001:db8:1:${index.toString(16)}::1`)
  await expect.poll(asked).toBeGreaterThan(15)
  clock.nowMs = 60_000
  expect([await statusOf(NAME), await statusOf(OTHER)]).toEqual([refused, refused])
  expect(refused).toBe(403)
})

test('a person who waits for the answer to the question of a stranger asks again when the stranger gives it up', async () => {
  await using stack = new AsyncDisposableStack()
  const { ask, statusOf, held, asked } = await setUp(stack)
  held.add(NAME)
  ask(NAME, '2001:db8:1::1')
  await expect.poll(asked).toBe(1)
  const person = statusOf(NAME)
  const other = statusOf(NAME)
  // The person's question was sent before those that make the stranger give up.
  expect(await statusOf(OTHER)).toBe(403)
  held.delete(NAME)
  for (let index = 0; index < 40; index++) ask(strangeName(index), `2001:db8:1:${index.toString(16)}::1`)
  expect([await person, await other]).toEqual([403, 403])
})

test.each([
  ['nothing', {}],
  ['the cookie of a visit', { cookie: 'berth_visit_abc=1' }],
])(
  'an address of a form that no app has is not found, whoever shows %s, and the manager is not asked',
  async (_, shown) => {
    await using stack = new AsyncDisposableStack()
    const { ask, asked } = await setUp(stack)
    for (const name of ['no-app', 'a'.repeat(17), 'abcdefghijklmno1', '']) {
      const [{ statusCode }] = (await once(ask(name, '203.0.113.7', shown), 'response')) as [IncomingMessage]
      expect(statusCode, name).toBe(404)
    }
    expect(asked()).toBe(0)
  },
)
