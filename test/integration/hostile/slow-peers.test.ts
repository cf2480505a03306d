import { mkdir, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ADMIN, temporaryDirectory } from '../../fixtures/manager.ts'
import { startDatabase } from '../../fixtures/postgres.ts'
import { letIn, startAttack } from './hostile-app.ts'
import { each, exchange, HostileServer, saying, type SlowPeer, slowPeer } from './peers.ts'
import { Victim } from './victim.ts'

/**
 * Peers that are slow on purpose: one byte at a time without end, readers that do not read, upgrades that are left half-way.
 * Each meets a deadline of `proxy/README.md` or holds a bounded amount, and others are served meanwhile.
 */
const MIB = 2 ** 20
const HEAD_MS = 2_000
const STALLED_MS = 3_000
/** Longer than a busy machine takes to open more than a thousand connections. */
const UNHURRIED = { headMs: 60_000, stalledMs: 60_000 } as const
/** A peer that ends its side sooner after its request may still wait for the answer (`proxy/http/half-close.ts`). */
const HALF_CLOSED_MS = 300
const HELD = 'still there'

/** Connects peers of each kind at once; @returns the text that each received, or HELD after `withinMs` */
async function meet(withinMs: number, peers: readonly SlowPeer[]): Promise<string[]> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>(resolve => (timer = setTimeout(() => resolve(HELD), withinMs)))
  const told = await Promise.all(peers.map(({ ended }) => Promise.race([ended, late])))
  clearTimeout(timer)
  for (const peer of peers) peer.stop()
  return told
}
const times = <T>(count: number, make: () => T) => Array.from({ length: count }, make)

/** Descriptors from the start of the console that may have been closed since the count. */
const GONE = 2

async function startConsole(stack: AsyncDisposableStack, { headMs = HEAD_MS, stalledMs = STALLED_MS } = {}) {
  const manager = stack.use(await HostileServer.start())
  const { path } = stack.use(await temporaryDirectory())
  await mkdir(join(path, 'renderer', 'assets'), { recursive: true })
  await writeFile(join(path, 'renderer', 'index.html'), '<!doctype html><title>Berth</title>')
  await writeFile(join(path, 'renderer', 'assets', 'large.js'), Buffer.alloc(32 * MIB, 120))
  const victim = stack.use(
    await Victim.start('test/integration/hostile/web-child.ts', {
      DATA_DIR: path,
      MANAGER_URL: `http://127.0.0.1:${manager.port}`,
      HEAD_MS: String(headMs),
      STALLED_MS: String(stalledMs),
    }),
  )
  const port = Number(new URL(victim.ready.url as string).port)
  const head = (line: string, more = '') => `${line}\r\nHost: localhost:${port}\r\n${more}\r\n`
  const isServed = async () =>
    (await exchange(port, head('GET / HTTP/1.1', 'Connection: close\r\n'), { timeoutMs: 10_000 })).text.includes(
      'Berth',
    )
  expect(await isServed()).toBe(true)
  return { victim, port, head, isServed, manager, before: await victim.descriptors() }
}

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n'

/** These wait for deadlines, those of the manager for half a minute. Each attacks a separate process. */
describe.concurrent('deadlines', () => {
  test('the manager disconnects endless heads and bodies, and silent agents', async ({ expect }) => {
    await using stack = new AsyncDisposableStack()
    const { url: databaseUrl } = stack.use(await startDatabase())
    const { path } = stack.use(await temporaryDirectory())
    const environment = {
      BERTH_DATA: path,
      BERTH_PORT: '0',
      DATABASE_URL: databaseUrl,
      BERTH_ADMIN_PASSWORD: ADMIN.password,
    }
    const victim = stack.use(await Victim.start('manager/main.ts', environment))
    const port = Number(new URL(victim.ready.url as string).port)
    const head = (line: string, more = '') => `${line}\r\nHost: 127.0.0.1:${port}\r\n${more}\r\n`
    const isServed = async () =>
      (await exchange(port, head('GET /healthz HTTP/1.1', 'Connection: close\r\n'))).text.startsWith('HTTP/1.1 200')
    expect(await isServed()).toBe(true)
    const before = await victim.descriptors()
    const login = head('POST /api/v1/auth/login HTTP/1.1', 'Content-Type: application/json\r\nContent-Length: 9000\r\n')
    const agent = head(
      'GET /agent/v1/control HTTP/1.1',
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
    )
    const peers = [
      ...times(30, () => slowPeer(port, { head: head('GET /healthz HTTP/1.1').slice(0, -2), rest: 'X: y\r\n' })),
      ...times(30, () => slowPeer(port, {})),
      ...times(30, () => slowPeer(port, { head: login, rest: ' ' })),
      ...times(30, () => slowPeer(port, { head: agent })),
      ...times(30, () => slowPeer(port, { head: agent, rest: '\x82' })),
      ...times(30, () => slowPeer(port, { head: agent.replace('control', 'data'), rest: 'x' })),
      ...times(30, () => slowPeer(port, { head: agent.replace('/agent/v1/control', '/nothing'), reads: false })),
    ]
    expect(await isServed()).toBe(true)
    expect(await victim.descriptors()).toBeGreaterThan(before + 100)
    await expect.poll(() => victim.descriptors(), { timeout: 45_000 }).toBeLessThanOrEqual(before + 10)
    for (const peer of peers) peer.stop()
  })

  test('the origin of an app disconnects endless heads; a slow app delays only its own requests', async ({
    expect,
  }) => {
    await using stack = new AsyncDisposableStack()
    const { app, victim } = await startAttack(stack)
    const browser = await letIn(victim)
    app.respond = (socket, request) => {
      if (!request.startsWith('GET /slow')) {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')
        return
      }
      const bytes = request.startsWith('GET /slow-head') ? 'HTTP/1.1 200 OK\r\nX: ' : 'HTTP/1.1 200 OK\r\n\r\n'
      socket.write(bytes)
      const timer = setInterval(() => socket.write('y'), 100)
      socket.once('close', () => clearInterval(timer))
    }
    const isFine = (text: string) => text.endsWith('fine')
    const isServed = async () =>
      isFine(
        (await exchange(browser.port, browser.head('GET /fine HTTP/1.1'), { enough: isFine, timeoutMs: 10_000 })).text,
      )
    expect(await isServed()).toBe(true)
    const before = await victim.descriptors()
    const waiting = [
      ...times(40, () => slowPeer(browser.port, { head: browser.head('GET /slow-head HTTP/1.1') })),
      ...times(40, () => slowPeer(browser.port, { head: browser.head('GET /slow-body HTTP/1.1') })),
      ...times(20, () => slowPeer(browser.port, { head: browser.head('GET /slow-body HTTP/1.1'), reads: false })),
    ]
    const strangers = [
      ...times(30, () => slowPeer(browser.port, { head: browser.head().slice(0, -2), rest: 'X: y\r\n' })),
      ...times(30, () => slowPeer(browser.port, {})),
      ...times(30, () =>
        slowPeer(browser.port, {
          head: browser.head('GET / HTTP/1.1', UPGRADE).replace(browser.cookie, 'a=b'),
          rest: 'x',
        }),
      ),
    ]
    const met = meet(45_000, strangers)
    expect(await isServed()).toBe(true)
    expect((await met).filter(text => text === HELD)).toEqual([])
    expect(await isServed()).toBe(true)
    for (const peer of waiting) peer.stop()
    await expect.poll(() => victim.descriptors(), { timeout: 20_000 }).toBeLessThanOrEqual(before + 40)
  })

  test('the console disconnects peers that send an endless head or nothing, and serves others meanwhile', async ({
    expect,
  }) => {
    await using stack = new AsyncDisposableStack()
    const { victim, port, head, isServed, before } = await startConsole(stack)
    const unfinished = head('GET / HTTP/1.1').slice(0, -2)
    const peers = [
      ...times(50, () => slowPeer(port, { head: unfinished, rest: 'X: y\r\n' })),
      ...times(50, () => slowPeer(port, { rest: 'GET / HTTP/1.1\r\nA: b' })),
      ...times(50, () => slowPeer(port, {})),
    ]
    const met = meet(20_000, peers)
    expect(await isServed()).toBe(true)
    expect((await met).filter(text => text === HELD)).toEqual([])
    await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 2)
  })

  test('the console closes the connection of a request whose body trickles on after its answer', async ({ expect }) => {
    await using stack = new AsyncDisposableStack()
    const { victim, port, head, isServed, before } = await startConsole(stack)
    const body = 'Content-Length: 100000\r\n'
    const peers = [
      ...times(20, () => slowPeer(port, { head: head('GET / HTTP/1.1', body), rest: 'x' })),
      ...times(20, () => slowPeer(port, { head: head('POST /host/host/info HTTP/1.1', body), rest: 'x' })),
      ...times(20, () =>
        slowPeer(port, { head: head('GET / HTTP/1.1', 'Transfer-Encoding: chunked\r\n'), rest: '1\r\nx\r\n' }),
      ),
    ]
    const met = meet(20_000, peers)
    expect(await isServed()).toBe(true)
    const told = await met
    expect(told.filter(text => text === HELD)).toEqual([])
    // A refusal is sent when the peer's time is over, and may be lost in the following reset.
    expect(told.filter(text => text.startsWith('HTTP/1.1 200'))).toHaveLength(40)
    await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 2)
  })

  test('the console disconnects readers that do not read, and buffers little for them', async ({ expect }) => {
    await using stack = new AsyncDisposableStack()
    const { victim, port, head, isServed, before } = await startConsole(stack)
    await exchange(port, head('GET /assets/large.js HTTP/1.1'), { enough: text => text.length > 30 * MIB })
    const memory = await victim.residentBytes()
    const large = head('GET /assets/large.js HTTP/1.1')
    const peers = times(50, () => slowPeer(port, { head: large, reads: false }))
    expect(await isServed()).toBe(true)
    expect(await victim.descriptors()).toBeGreaterThanOrEqual(before + peers.length - GONE)
    expect((await victim.residentBytes()) - memory).toBeLessThan(64 * MIB)
    // A peer that does not read notices no end: it is still there when no resources are held for it any more.
    await expect.poll(() => victim.descriptors(), { timeout: STALLED_MS * 10 }).toBeLessThanOrEqual(before + 2)
    for (const peer of peers) peer.stop()
  })

  test('the console ends refused upgrades although the peer stays', async ({ expect }) => {
    await using stack = new AsyncDisposableStack()
    const { victim, port, head, isServed, manager, before } = await startConsole(stack)
    manager.respond = saying('HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno')
    const peers = ['/api/v1/sessions/x/terminal', '/stream/session/x/tcpproxy?app=y'].flatMap(path => [
      ...times(20, () => slowPeer(port, { head: head(`GET ${path} HTTP/1.1`, UPGRADE), rest: 'x' })),
      ...times(20, () => slowPeer(port, { head: head(`GET ${path} HTTP/1.1`, UPGRADE), reads: false })),
    ])
    expect(await isServed()).toBe(true)
    // A peer that does not read notices no end; the test checks that no resources are held for it, although it is still there.
    await expect.poll(() => victim.descriptors(), { timeout: 20_000 }).toBeLessThanOrEqual(before + 2)
    for (const peer of peers) peer.stop()
  })
})

test('answers to strangers who ask for a tunnel, and do not read, are let go', async () => {
  await using stack = new AsyncDisposableStack()
  const { victim, port, head, manager, before } = await startConsole(stack)
  const body = 'x'.repeat(10 * MIB)
  manager.respond = saying(`HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  const paths = ['/api/v1/openapi.json', '/api/v1/openapi%2Ejson?/stream/x', '/readyz']
  const peers = paths.flatMap(path =>
    times(10, () => slowPeer(port, { head: head(`GET ${path} HTTP/1.1`, UPGRADE), reads: false })),
  )
  await expect.poll(() => victim.descriptors()).toBeGreaterThanOrEqual(before + peers.length - GONE)
  await expect.poll(() => victim.descriptors(), { timeout: STALLED_MS * 10 }).toBeLessThanOrEqual(before + 2)
  for (const peer of peers) peer.stop()
})

test('any number of event streams leaves ordinary calls of the console alone', async () => {
  await using stack = new AsyncDisposableStack()
  const { victim, port, head, manager, before } = await startConsole(stack, UNHURRIED)
  manager.respond = (socket, request) => {
    if (request.includes('/api/v1/events'))
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n')
    else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine')
  }
  const streams = times(1_100, () => slowPeer(port, { head: head('GET /api/v1/events HTTP/1.1') }))
  const all = before + 2 * streams.length - GONE
  await expect.poll(() => victim.descriptors(), { timeout: 20_000 }).toBeGreaterThanOrEqual(all)
  const answer = await exchange(port, head('GET /api/v1/me HTTP/1.1', 'Connection: close\r\n'))
  expect(answer.text).toContain('fine')
  for (const stream of streams) stream.stop()
  await expect.poll(() => victim.descriptors(), { timeout: 20_000 }).toBeLessThanOrEqual(before + 2)
})

const KINDS = [
  ['calls', ''],
  ['calls that ask for a tunnel', UPGRADE],
] as const

test.each(KINDS)('unanswered %s of one caller use a quarter of the connections to the manager', async (_, more) => {
  await using stack = new AsyncDisposableStack()
  const { victim, port, head, manager, before } = await startConsole(stack, UNHURRIED)
  manager.respond = () => undefined
  const peers = times(1_200, () => slowPeer(port, { head: head('GET /api/v1/me HTTP/1.1', more) }))
  await expect.poll(() => victim.descriptors(), { timeout: 20_000 }).toBeGreaterThanOrEqual(before + 1_200 + 256 - GONE)
  expect(await victim.descriptors()).toBeLessThan(before + 1_200 + 266)
  await delay(HALF_CLOSED_MS)
  for (const peer of peers) peer.stop()
  // After a stall of the victim, a peer may count as one that waits, until the kernel's probe after a minute.
  await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 2)
})

test('a pipelining client uses one connection to the manager, and its answers come in order', async () => {
  await using stack = new AsyncDisposableStack()
  const { victim, port, head, manager, before } = await startConsole(stack)
  manager.respond = (socket, request) => {
    const path = request.split(' ', 2)[1] ?? ''
    if (path !== '/api/stuck')
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\nConnection: close\r\n\r\n${path}`)
  }
  const numbers = times(30, () => 0).map((_, index) => index)
  const pipelined = numbers.map(index => head(`GET /api/${index} HTTP/1.1`)).join('')
  const last = head('GET /api/last HTTP/1.1', 'Connection: close\r\n')
  const { text } = await exchange(port, pipelined + last)
  expect([...text.matchAll(/\/api\/(\d+)/g)].map(([, index]) => Number(index))).toEqual(numbers)
  expect(text.endsWith('/api/last')).toBe(true)

  const stuck = slowPeer(port, { head: head('GET /api/stuck HTTP/1.1').repeat(30) })
  expect((await exchange(port, last)).text).toContain('/api/last')
  expect(await victim.descriptors()).toBeLessThan(before + 10)
  stuck.stop()
  await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 2)
  // More than a few at once end their own connection.
  const paths = ['/api/stuck', '/', '/host/tunnel/list', '/nowhere']
  const floods = paths.map(path => slowPeer(port, { head: head(`GET ${path} HTTP/1.1`).repeat(20_000) }))
  await Promise.all(floods.map(({ ended }) => ended))
  expect((await exchange(port, last)).text).toContain('/api/last')
  await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 2)
})

test('an answer of the manager that is reset after any byte never passes as a whole one', async () => {
  await using stack = new AsyncDisposableStack()
  const { victim, port, head, isServed, manager, before } = await startConsole(stack)
  const whole = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"a":"bcd"}'
  manager.respond = (socket, request) => {
    const cut = Number(/^\w+ \/\w+\/(\d+)/.exec(request)?.[1])
    socket.write(whole.slice(0, cut), () => setTimeout(() => socket.resetAndDestroy(), 5))
  }
  for (const [folder, more] of [
    ['api', 'Connection: close\r\n'],
    ['stream', UPGRADE],
  ] as const) {
    await each(
      times(whole.length, () => 0).map((_, cut) => cut),
      async cut => {
        const { end, text } = await exchange(port, head(`GET /${folder}/${cut} HTTP/1.1`, more))
        expect(end, `cut after ${cut} bytes`).not.toBe('hung')
        if (text.startsWith('HTTP/1.1 200')) expect(text.endsWith('}'), `cut after ${cut} bytes`).toBe(false)
      },
    )
  }
  expect(await isServed()).toBe(true)
  await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 2)
})

test('slow peers on both sides of a TCP tunnel do not affect other tunnels, and leave nothing behind', async () => {
  await using stack = new AsyncDisposableStack()
  const { app, victim } = await startAttack(stack)
  const { port } = (await victim.ask({ open: 'raw' })) as { port: number }
  const block = Buffer.alloc(64 * 1024, 120)
  app.respond = (socket, request) => {
    if (request.startsWith('fine')) socket.end('fine')
    else if (request.startsWith('flood')) {
      const more = () => {
        while (!socket.destroyed && socket.write(block));
      }
      socket.on('drain', more)
      more()
    } else {
      const timer = setInterval(() => socket.write('y'), 100)
      socket.once('close', () => clearInterval(timer))
    }
  }
  const isServed = async () => (await exchange(port, 'fine\r\n\r\n')).text === 'fine'
  expect(await isServed()).toBe(true)
  const before = await victim.descriptors()
  const memory = await victim.residentBytes()
  const peers = [
    ...times(30, () => slowPeer(port, { head: 'slow\r\n\r\n', rest: 'x' })),
    ...times(10, () => slowPeer(port, { head: 'flood\r\n\r\n', reads: false })),
  ]
  const halfOpen = times(20, () => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    socket.end('slow\r\n\r\n')
    return socket
  })
  await new Promise(resolve => setTimeout(resolve, 2_000))
  expect(await isServed()).toBe(true)
  expect((await victim.residentBytes()) - memory).toBeLessThan(128 * MIB)
  for (const peer of peers) peer.stop()
  for (const socket of halfOpen) socket.destroy()
  await expect.poll(() => victim.descriptors(), { timeout: 40_000 }).toBeLessThanOrEqual(before + 4)
  expect(await isServed()).toBe(true)
})
