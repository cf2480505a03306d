import { afterEach, expect, test } from 'vitest'
import { letIn, startAttack } from './hostile-app.ts'
import { BYTES, char, each, exchange, saying } from './peers.ts'

/** An app of a session may be any program: whatever it answers, the proxy keeps running, every request ends, and the next one is served. */

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

async function setUp() {
  const { app, victim } = await startAttack(stack)
  const browser = await letIn(victim)
  const answers = new Map<string, string>()
  app.respond = (socket, request) => {
    const answer = answers.get(request.split(' ', 2)[1] ?? '')
    if (answer === undefined) saying('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')(socket, request)
    else saying(answer)(socket, request)
  }

  /** Sends one request per answer. @returns the reply to each */
  async function attack(list: readonly string[], request = (path: string) => browser.head(`GET ${path} HTTP/1.1`)) {
    const before = await victim.descriptors()
    const told: Awaited<ReturnType<typeof exchange>>[] = []
    await each(list, async (answer, index) => {
      answers.set(`/${index}`, answer)
      told[index] = await exchange(browser.port, request(`/${index}`))
    })
    victim.assertAlive()
    expect(told.flatMap(({ end }, index) => (end === 'hung' ? [JSON.stringify(list[index])] : []))).toEqual([])
    expect(victim.log).not.toContain('a listener failed')
    expect((await exchange(browser.port, browser.head('GET /fine HTTP/1.1'))).text).toContain('fine')
    // Pooled tunnels stay open: at most 32 of them.
    await expect.poll(() => victim.descriptors()).toBeLessThanOrEqual(before + 40)
    return told.map(({ text }) => Number(/^HTTP\/1\.1 (\d+) /.exec(text)?.[1]) || 0)
  }
  return { app, victim, browser, attack }
}

test('every byte in the status line of an app', async () => {
  const { attack } = await setUp()
  const statuses = await attack([
    ...BYTES.map(byte => `HTTP/1.1 999 Weird${char(byte)}status\r\nContent-Length: 2\r\n\r\nok`),
    ...BYTES.map(byte => `HTTP/1.1${char(byte)}200 OK\r\nContent-Length: 2\r\n\r\nok`),
  ])
  expect(statuses[1]).toBe(999)
  expect(new Set(statuses)).toEqual(new Set([999, 502, 200]))
})

test('unknown statuses, informational statuses, and an unasked switch of protocols', async () => {
  const { attack } = await setUp()
  const codes = ['000', '001', '099', '100', '101', '102', '103', '199', '600', '999', '1000', '-1', '20', '2e2']
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  const list = codes.flatMap(code => [
    `HTTP/1.1 ${code} X\r\nContent-Length: 0\r\n\r\n`,
    `HTTP/1.1 ${code} X\r\n${upgrade}\r\nmore`,
  ])
  const statuses = await attack([...list, `${'HTTP/1.1 103 Early\r\n\r\n'.repeat(5000)}HTTP/1.1 200 OK\r\n\r\nok`])
  expect(statuses[codes.indexOf('101') * 2 + 1]).toBe(502)
  expect(statuses[codes.indexOf('101') * 2]).toBe(502)
  expect(statuses[codes.indexOf('000') * 2]).toBe(502)
  expect(statuses[codes.indexOf('600') * 2]).toBe(600)
})

test('every byte in names and values of header fields', async () => {
  const { attack } = await setUp()
  await attack([
    ...BYTES.map(byte => `HTTP/1.1 200 OK\r\nX-A: a${char(byte)}b\r\nContent-Length: 2\r\n\r\nok`),
    ...BYTES.map(byte => `HTTP/1.1 200 OK\r\nX${char(byte)}Y: a\r\nContent-Length: 2\r\n\r\nok`),
  ])
})

test('contradictory framing, trailers and chunks', async () => {
  const { attack } = await setUp()
  const head = 'HTTP/1.1 200 OK\r\n'
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
  await attack([
    '',
    '\r\n\r\n',
    'SSH-2.0-OpenSSH_9.2\r\n',
    'HTTP/0.9 200 OK\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`,
    `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    `${head}Content-Length: -1\r\n\r\nok`,
    `${head}Content-Length: 99999999999999999999\r\n\r\nok`,
    `${head}Content-Length: 9007199254740993\r\n\r\nok`,
    `${head}Content-Length: 2, 2\r\n\r\nok`,
    `${head}Content-Length: 100\r\n\r\nshort`,
    `${head}Content-Length: 2\r\n\r\nok and more than that`,
    `${head}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    `${head}Transfer-Encoding: nonsense\r\n\r\nok`,
    `${head}Connection: close, content-length\r\nContent-Length: 2\r\n\r\nok`,
    `${head}Upgrade: websocket\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nok`,
    `${head}X: a\r\n b\r\nContent-Length: 2\r\n\r\nok`,
    `${head}${'X: y\r\n'.repeat(5000)}\r\n`,
    `${head}X: ${'y'.repeat(100_000)}\r\n\r\n`,
    `${head}Set-Cookie: a\r\n`.padEnd(200),
    `${chunked}2\r\nok\r\n0\r\n\r\n`,
    `${chunked}2\r\nok\r\n0\r\nHost: evil\r\nContent-Length: 9\r\n\r\n`,
    `${chunked}2\r\nok\r\n0\r\nX: \x01\r\n\r\n`,
    `${chunked}ZZZ\r\nok\r\n`,
    `${chunked}-1\r\nok\r\n`,
    `${chunked}ffffffffffffffff\r\nok\r\n`,
    `${chunked}2;${'x'.repeat(50_000)}\r\nok\r\n0\r\n\r\n`,
    `${chunked}2\r\nokay\r\n0\r\n\r\n`,
    `${chunked}2\nok\n0\n\n`,
    'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello',
    'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello',
  ])
})

test('a response of an app that is reset after each of its bytes', async () => {
  const { app, attack, browser, victim } = await setUp()
  const whole = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n5\r\nhello\r\n0\r\nT: v\r\n\r\n'
  const cuts = Array.from({ length: whole.length }, (_, cut) => cut)
  app.respond = (socket, request) => {
    const cut = Number(/^GET \/(\d+)/.exec(request)?.[1] ?? whole.length)
    socket.write(whole.slice(0, cut), () => setTimeout(() => socket.resetAndDestroy(), 5))
  }
  await each(cuts, async cut => {
    const { end, text } = await exchange(browser.port, browser.head(`GET /${cut} HTTP/1.1`))
    expect(end, `cut after ${cut} bytes`).not.toBe('hung')
    // A partial answer is never presented as a complete one.
    if (text.startsWith('HTTP/1.1 200')) expect(text.endsWith('0\r\n\r\n'), `cut after ${cut} bytes`).toBe(false)
  })
  victim.assertAlive()
  app.respond = saying('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine')
  await attack([])
})

test('answers to an upgrade: none, other statuses, and switches with every kind of end', async () => {
  const { attack, browser } = await setUp()
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
  const request = (path: string) => browser.head(`GET ${path} HTTP/1.1`, upgrade)
  const statuses = await attack(
    [
      '',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      `HTTP/1.1 101 \x01\r\n${upgrade}\r\nhello`,
      `HTTP/1.1 101 Switching Protocols\r\n${upgrade}X: \xff\r\n\r\n`,
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 \x02\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nok',
      'HTTP/1.1 204 No\r\n\r\n',
      'HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n',
      'HTTP/1.1 426 Other\r\nUpgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n',
      'garbage\r\n\r\n',
    ],
    request,
  )
  expect(statuses).toEqual([502, 502, 101, 101, 200, 200, 200, 204, 502, 426, 502])
})

test('a request with a body that is answered by a switch, by garbage, early or not at all', async () => {
  const { attack, browser } = await setUp()
  const body = 'x'.repeat(100_000)
  const request = (path: string) =>
    browser.head(`POST ${path} HTTP/1.1`, `Connection: close\r\nContent-Length: ${body.length}\r\n`) + body
  const statuses = await attack(
    [
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'garbage\r\n\r\n',
      '',
    ],
    request,
  )
  expect(statuses).toEqual([502, 502, 200, 502, 502])
})

test('clients that stall in front of an endless answer use bounded memory', async () => {
  const { app, browser, victim } = await setUp()
  const block = Buffer.alloc(64 * 1024, 120)
  app.respond = socket => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    const more = () => {
      while (!socket.destroyed && socket.write(block));
    }
    socket.on('drain', more)
    more()
  }
  const before = await victim.residentBytes()
  const stalled = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const { connect } = await import('node:net')
      const socket = connect({ port: browser.port, host: '127.0.0.1' }).pause()
      socket.on('error', () => undefined)
      socket.write(browser.head())
      return socket
    }),
  )
  // If the answer were read further, memory would grow by far more in each of these pauses. On a busy machine the buffers take a while to
  // fill.
  let filled = before
  const growth = async () => {
    await new Promise(resolve => setTimeout(resolve, 1500))
    const last = filled
    filled = await victim.residentBytes()
    return filled - last
  }
  await growth()
  await expect.poll(growth, { timeout: 20_000 }).toBeLessThan(16 * 2 ** 20)
  for (const socket of stalled) socket.destroy()
  expect(filled - before).toBeLessThan(96 * 2 ** 20)
})
