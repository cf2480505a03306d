import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { BYTES, char, each, exchange, HostileServer, saying, UNFINISHED_MS } from './peers.ts'
import { Victim } from './victim.ts'

/** The console's server: every local program, and through a browser every page, may send it any bytes without signing in. */

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function setUp(options: { descriptors?: number } = {}) {
  const manager = stack.use(await HostileServer.start())
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-hostile-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const consoleDir = join(directory, 'renderer')
  await mkdir(join(consoleDir, 'assets'), { recursive: true })
  await writeFile(join(consoleDir, 'index.html'), `<!doctype html><title>Berth</title>${'x'.repeat(300_000)}`)
  const environment = {
    BERTH_DATA: directory,
    BERTH_PORT: '0',
    BERTH_MANAGER_URL: `http://127.0.0.1:${manager.port}`,
    BERTH_CONSOLE_DIR: consoleDir,
    BERTH_SSH_DIR: join(directory, 'ssh'),
  }
  const victim = stack.use(await Victim.start('proxy/web/main.ts', environment, options.descriptors))
  const port = Number(new URL(victim.ready.url as string).port)
  const head = (line: string, more = 'Connection: close\r\n') => `${line}\r\nHost: localhost:${port}\r\n${more}\r\n`
  const page = () => exchange(port, head('GET / HTTP/1.1'))
  await page()
  return { manager, victim, port, head, page }
}

/** Still alive, serves the page, and has released the resources of the attack. */
async function assertUnharmed({ victim, page }: Awaited<ReturnType<typeof setUp>>, before: number) {
  victim.assertAlive()
  expect(victim.log).not.toContain('a listener failed')
  expect((await page()).text).toContain('<title>Berth</title>')
  await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 2)
}

test('requests that break off after their head leave no open descriptor', async () => {
  const setup = await setUp()
  const { head, port, victim } = setup
  const before = await victim.descriptors()
  const broken = [
    head('GET / HTTP/1.1', 'Transfer-Encoding: chunked\r\n') + 'ZZZ\r\n',
    head('GET / HTTP/1.1', '') + 'garbage\r\n\r\n',
    head('GET / HTTP/1.1', '').repeat(20),
    head('GET /none.js HTTP/1.1', '') + '\0',
  ]
  await each(
    Array.from({ length: 200 }, (_, index) => broken[index % broken.length] ?? ''),
    async bytes => {
      await exchange(port, bytes, { enough: () => true })
    },
  )
  await each(Array.from({ length: 200 }), async () => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => undefined)
    await new Promise<void>(resolve => socket.write(head('GET / HTTP/1.1', ''), () => resolve()))
    socket.resetAndDestroy()
  })
  await assertUnharmed(setup, before)
})

test('a process without free descriptors answers again when it has some', async () => {
  const setup = await setUp({ descriptors: 80 })
  const { head, port, victim } = setup
  const before = await victim.descriptors()
  const idle = Array.from({ length: 150 }, () => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', () => undefined)
    socket.write(head('GET / HTTP/1.1', '') + head('GET /api/v1/x HTTP/1.1', ''))
    return socket
  })
  await new Promise(resolve => setTimeout(resolve, 1500))
  for (const socket of idle) socket.destroy()
  await assertUnharmed(setup, before)
})

test('every byte in the request line and in header fields', async () => {
  const setup = await setUp()
  const { head, port, victim, manager } = setup
  manager.respond = saying('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
  const before = await victim.descriptors()
  const hung: string[] = []
  const attacks = BYTES.flatMap(byte => [
    head(`GET /a${char(byte)}b HTTP/1.1`),
    head(`GET /api/v1/a${char(byte)}b HTTP/1.1`),
    head(`GET /host/a${char(byte)}b HTTP/1.1`),
    head('GET /api/v1/x HTTP/1.1', `X: a${char(byte)}b\r\nConnection: close\r\n`),
    head('GET /host/events HTTP/1.1', `Cookie: berth_${port}=a${char(byte)}b\r\nConnection: close\r\n`),
    `G${char(byte)}T / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`,
  ])
  await each(attacks, async bytes => {
    // A line break may leave a head unfinished: then its time is a minute.
    const isWhole = !/[\r\n]b/.test(bytes)
    const { end, text } = await exchange(port, bytes, isWhole ? {} : { timeoutMs: UNFINISHED_MS })
    if (end === 'hung' && text === '' && isWhole) hung.push(JSON.stringify(bytes))
  })
  expect(hung).toEqual([])
  await assertUnharmed(setup, before)
})

test('a request that is reset after each of its bytes', async () => {
  const setup = await setUp()
  const { head, port, victim } = setup
  const before = await victim.descriptors()
  const bytes = head('POST /host/tunnel/open HTTP/1.1', 'Content-Length: 9\r\nCookie: berth=1\r\n') + '[{"a":1}]'
  await each(
    Array.from({ length: bytes.length }, (_, cut) => cut),
    async cut => {
      const socket = connect({ port, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      await new Promise<void>(resolve => socket.write(bytes.slice(0, cut), () => resolve()))
      socket.resetAndDestroy()
    },
  )
  await assertUnharmed(setup, before)
})

test('a manager with any byte in its status line, or with an unasked switch of protocols', async () => {
  const setup = await setUp()
  const { head, port, victim, manager } = setup
  const before = await victim.descriptors()
  manager.respond = (socket, request) => {
    const byte = Number(/^GET \/api\/v1\/(\d+)/.exec(request)?.[1])
    const answer =
      byte < 256 ? `HTTP/1.1 299 W${char(byte)}s\r\n` : 'HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: x\r\n'
    socket.end(`${answer}Content-Length: 0\r\n\r\n`, 'latin1')
  }
  const statuses: (string | undefined)[] = []
  await each([...BYTES, 256], async byte => {
    const { end, text } = await exchange(port, head(`GET /api/v1/${byte} HTTP/1.1`))
    expect(end).not.toBe('hung')
    statuses[byte] = /^HTTP\/1\.1 (\d+) /.exec(text)?.[1]
  })
  expect(new Set(statuses)).toEqual(new Set(['299', '503']))
  expect(statuses[1]).toBe('299')
  expect(statuses[256]).toBe('503')
  await assertUnharmed(setup, before)
})

test('an answer before the end of the request announces that the connection closes', async () => {
  const setup = await setUp()
  const { head, port, victim, manager } = setup
  const before = await victim.descriptors()
  manager.respond = socket => socket.write('HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno')
  const cookie = `Cookie: berth_${port}=a\r\nOrigin: http://localhost:${port}\r\n`
  const attacks = ['POST /api/v1/x HTTP/1.1', 'POST /host/nothing/here HTTP/1.1'].map(
    line => head(line, `Content-Length: 10000000\r\n${cookie}`) + 'x'.repeat(100_000),
  )
  await each(attacks, async bytes => {
    const { text, end } = await exchange(port, bytes)
    expect(text).toMatch(/^HTTP\/1\.1 40\d /)
    expect(text.toLowerCase()).toContain('connection: close')
    expect(end).not.toBe('hung')
  })
  await assertUnharmed(setup, before)
})
