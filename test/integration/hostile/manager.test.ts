import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { ADMIN, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { BYTES, char, each, exchange, slowPeer, UNFINISHED_MS } from './peers.ts'
import { Victim } from './victim.ts'

/** The manager's HTTP port: the console, agents and programs can reach it, and each of them may be compromised. */

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function setUp(descriptors?: number) {
  const { url: databaseUrl } = stack.use(await startDatabase())
  const { path } = stack.use(await temporaryDirectory())
  const environment = {
    BERTH_DATA: path,
    BERTH_PORT: '0',
    DATABASE_URL: databaseUrl,
    BERTH_ADMIN_PASSWORD: ADMIN.password,
  }
  const victim = stack.use(await Victim.start('manager/main.ts', environment, descriptors))
  const port = Number(new URL(victim.ready.url as string).port)
  const head = (line: string, more = 'Connection: close\r\n') => `${line}\r\nHost: 127.0.0.1:${port}\r\n${more}\r\n`
  const isWell = async () => (await exchange(port, head('GET /healthz HTTP/1.1'))).text.startsWith('HTTP/1.1 200')
  expect(await isWell()).toBe(true)
  return { victim, port, head, isWell, before: await victim.descriptors() }
}

async function assertUnharmed({ victim, isWell, before }: Awaited<ReturnType<typeof setUp>>) {
  victim.assertAlive()
  expect(await isWell()).toBe(true)
  await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 10)
}

test('any byte in request lines, fields, bodies and upgrades, and requests that break off at any byte', async () => {
  const setup = await setUp()
  const { head, port } = setup
  const upgrade = (target: string, more: string) =>
    head(
      `GET ${target} HTTP/1.1`,
      `Connection: Upgrade\r\nUpgrade: ${more}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n`,
    )
  const json = (body: string) =>
    head(
      'POST /api/v1/auth/login HTTP/1.1',
      `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`,
    ) + body
  const attacks = [
    ...BYTES.flatMap(byte => [
      head(`GET /api/v1/a${char(byte)}b HTTP/1.1`),
      head('GET /api/v1/me HTTP/1.1', `Authorization: Bearer a${char(byte)}b\r\nConnection: close\r\n`),
      head('GET /api/v1/me HTTP/1.1', `Cookie: berth=a${char(byte)}b\r\nConnection: close\r\n`),
    ]),
    ...BYTES.filter(byte => byte % 5 === 0).flatMap(byte => [
      json(`{"email":"a${char(byte)}b"}`),
      upgrade(`/stream/session/a${char(byte)}b/tcpproxy`, 'websocket'),
      upgrade('/agent/v1/data', `a${char(byte)}b`),
    ]),
    upgrade('/agent/v1/control', 'websocket'),
    upgrade('/agent/v1/data', 'berth-data'),
    upgrade('/nothing', 'websocket'),
    head('CONNECT example.org:1 HTTP/1.1'),
    head('POST /api/v1/auth/login HTTP/1.1', 'Transfer-Encoding: chunked\r\n') + 'ZZZ\r\n',
    head('POST /api/v1/auth/login HTTP/1.1', 'Transfer-Encoding: chunked\r\nContent-Length: 3\r\n') + '0\r\n\r\n',
    head('POST /api/v1/auth/login HTTP/1.1', 'Content-Length: -1\r\n'),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01',
  ]
  const hung: string[] = []
  await each(attacks, async bytes => {
    // An unfinished head, because of a line break, and a silent agent have some time.
    const isWhole = bytes.endsWith('\r\n\r\n') && !/[\r\n]b/.test(bytes)
    const { end, text } = await exchange(port, bytes, isWhole ? {} : { timeoutMs: UNFINISHED_MS })
    if (/^HTTP\/1\.1 500 /.test(text)) hung.push(`500 to ${JSON.stringify(bytes)}`)
    if (end === 'hung' && text === '' && isWhole) hung.push(JSON.stringify(bytes))
  })
  expect(hung).toEqual([])
  const whole = json(JSON.stringify(ADMIN))
  await each(
    Array.from({ length: whole.length }, (_, cut) => cut),
    async cut => {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      await new Promise<void>(resolve => socket.write(whole.slice(0, cut), () => resolve()))
      socket.resetAndDestroy()
    },
  )
  await assertUnharmed(setup)
})

test('a request for a tunnel behind answers that are not read ends the connection', async () => {
  const setup = await setUp()
  const { head, port, isWell } = setup
  const upgrade = head('GET /stream/session/x/tcpproxy HTTP/1.1', 'Connection: Upgrade\r\nUpgrade: websocket\r\n')
  const answers = head('GET /api/v1/openapi.json HTTP/1.1', '').repeat(20)
  const peers = Array.from({ length: 20 }, () => slowPeer(port, { head: answers + upgrade, reads: false }))
  stack.defer(() => peers.forEach(peer => peer.stop()))
  expect(await isWell()).toBe(true)
  await assertUnharmed(setup)
})

test('of connections that prove nothing few stay open, and one with a proven request in progress is not among those that end', async () => {
  const setup = await setUp()
  const { head, port, victim } = setup
  const login = JSON.stringify({ ...ADMIN, kind: 'token' })
  const signedIn = await exchange(
    port,
    head(
      'POST /api/v1/auth/login HTTP/1.1',
      `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${login.length}\r\n`,
    ) + login,
  )
  const token = /"token":"([^"]+)"/.exec(signedIn.text)?.[1] ?? ''
  const stream = connect(port, '127.0.0.1')
  stream.write(head('GET /api/v1/events HTTP/1.1', `Authorization: Bearer ${token}\r\n`))
  await once(stream, 'data')
  const silent = Array.from({ length: 1_500 }, () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    return socket
  })
  try {
    await expect.poll(() => silent.filter(socket => socket.closed).length).toBeGreaterThanOrEqual(1_500 - 1_024)
    expect(await victim.descriptors()).toBeLessThan(setup.before + 1_024 + 20)
    expect(await setup.isWell()).toBe(true)
    expect(stream.closed).toBe(false)
  } finally {
    for (const socket of [stream, ...silent]) socket.destroy()
  }
  await assertUnharmed(setup)
})

test('connections that prove nothing leave descriptors to others where a process may open few', async () => {
  const setup = await setUp(256)
  const silent = Array.from({ length: 300 }, () => {
    const socket = connect({ port: setup.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    return socket
  })
  try {
    await expect.poll(() => silent.filter(socket => socket.closed).length).toBeGreaterThanOrEqual(300 - 256 / 8)
    expect(await setup.isWell()).toBe(true)
  } finally {
    for (const socket of silent) socket.destroy()
  }
  await assertUnharmed(setup)
})
