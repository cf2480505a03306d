import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWeb } from '../../../proxy/web/server.ts'
import { launchBrowser } from '../../fixtures/browser.ts'
import { ADMIN, CONSOLE_SECRET, startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { rawRequest } from '../../fixtures/raw-http.ts'

/**
 * A real browser, a real console and manager, and a program of another user of this computer: it listens on its own port and makes the
 * browser visit it. The browser sends it cookies, but nothing else.
 */
let stack: AsyncDisposableStack
let browser: Browser
let console_: string
let hostile: Awaited<ReturnType<typeof startHostile>>

beforeAll(async () => {
  stack = new AsyncDisposableStack()
  const manager = stack.use(await startTestManager())
  const { path: dataDir } = stack.use(await temporaryDirectory())
  const consoleDir = join(dataDir, 'renderer')
  await mkdir(consoleDir)
  await writeFile(join(consoleDir, 'index.html'), '<!doctype html><title>Console</title>')
  const config = {
    dataDir,
    consoleDir,
    port: 0,
    managerUrl: manager.url,
    allowedHosts: [],
    version: '1',
    consoleSecret: CONSOLE_SECRET,
  }
  const web = stack.use(await startWeb(config, pino({ level: 'silent' })))
  console_ = web.url
  hostile = await startHostile(web.port)
  stack.defer(hostile.close)
  browser = await launchBrowser()
  stack.defer(() => browser.close())
})
afterAll(() => stack.disposeAsync())

/** Records the cookies that it receives, and sets some with the console's name. */
async function startHostile(consolePort: number) {
  const cookies: string[] = []
  const planted = ['/api', '/api/v1/me', '/host'].map(
    path => `berth_${consolePort}=berth_${'P'.repeat(43)}; Path=${path}`,
  )
  // As many as a browser stores for one host name without dropping ours; each comes before ours in the header, because its path is longer.
  const many = Array.from({ length: 80 }, (_, index) =>
    ['/api', '/host'].map(path => `berth_${index + 1}=berth_${'Q'.repeat(40)}${100 + index}; Path=${path}`),
  ).flat()
  const huge = Array.from({ length: 40 }, (_, index) => `junk_${index}=${'x'.repeat(3900)}; Path=/; HttpOnly`)
  const plants: Readonly<Record<string, readonly string[]>> = { '/many': many, '/huge': huge }
  const server = createServer({ maxHeaderSize: 2 ** 20 }, (request, response) => {
    cookies.push(request.headers.cookie ?? '')
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': [...(plants[request.url ?? ''] ?? planted)] })
    response.end('<!doctype html><title>Free GPUs</title>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { cookies, port, close }
}

/** Signs in like the page: the browser stores the cookie, and the origin's storage the secret. */
async function signIn(page: Page): Promise<void> {
  await page.goto(console_)
  await page.evaluate(async who => {
    const reply = await fetch('/api/v1/auth/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(who),
    })
    const { originSecret } = (await reply.json()) as { originSecret: string }
    localStorage.setItem('berth.origin-secret', originSecret)
  }, ADMIN)
}

/** @returns the status of the answer to a call of the console's page */
const callAsPage = (page: Page, path: string, method = 'GET') =>
  page.evaluate(
    async ([path, method]) => {
      const secret = localStorage.getItem('berth.origin-secret') ?? ''
      const headers = { 'content-type': 'application/json', 'x-berth-origin-secret': secret }
      const body = method === 'POST' ? '[]' : undefined
      return (await fetch(path, { method, headers, ...(body ? { body } : {}) })).status
    },
    [path, method] as const,
  )

test('a page on another port can read the cookie but cannot use it', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await signIn(page)
  expect(await callAsPage(page, '/api/v1/me')).toBe(200)

  const bait = await context.newPage()
  await bait.goto(`http://localhost:${hostile.port}/`)
  const cookie = hostile.cookies.find(sent => sent.includes('berth_')) ?? ''
  // The attack is real: the browser sends the cookie to the other port.
  expect(cookie).toContain(`berth_${new URL(console_).port}=berth_`)
  expect(await bait.evaluate(() => localStorage.getItem('berth.origin-secret'))).toBeNull()

  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', origin: console_ }
  const socket = { 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==', ...upgrade }
  const terminal = '/api/v1/sessions/01900000-0000-7000-8000-0000000000aa/terminal?name=a&cols=80&rows=24'
  const tries: [path: string, method: string, headers?: Record<string, string>][] = [
    ['/api/v1/me', 'GET'],
    ['/api/v1/keypairs', 'POST'],
    ['/api/v1/events', 'GET'],
    ['/host/events', 'GET'],
    ['/host/tunnel/list', 'POST'],
    ['/api/v1/auth/logout', 'POST'],
    [terminal, 'GET', { ...socket, 'sec-websocket-protocol': 'berth.terminal.v1' }],
  ]
  for (const [path, method, headers] of tries) {
    const reply = await rawRequest(console_ + path, {
      method,
      headers: { cookie, ...headers },
      ...(method === 'POST' ? { body: [] } : {}),
    })
    expect([path, reply.status, reply.json?.code]).toEqual([path, 401, 'not_signed_in'])
  }
  await context.close()
})

test('cookies that a page on another port plants sign nobody out', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await signIn(page)
  const bait = await context.newPage()
  await bait.goto(`http://localhost:${hostile.port}/`)
  const names = (await context.cookies(`${console_}/api/v1/me`)).map(({ name, path }) => `${name} ${path}`)
  const name = `berth_${new URL(console_).port}`
  expect(names.toSorted()).toEqual([`${name} /`, `${name} /api`, `${name} /api/v1/me`])
  expect(await callAsPage(page, '/api/v1/me')).toBe(200)
  expect(await callAsPage(page, '/host/tunnel/list', 'POST')).toBe(200)
  expect(await callAsPage(page, '/api/v1/auth/logout', 'POST')).toBe(204)
  expect(await callAsPage(page, '/api/v1/me')).toBe(401)
  await context.close()
})

test('as many planted cookies as a browser keeps sign nobody out', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await signIn(page)
  const bait = await context.newPage()
  await bait.goto(`http://localhost:${hostile.port}/many`)
  expect((await context.cookies(`${console_}/api/v1/me`)).length).toBeGreaterThan(80)
  expect(await callAsPage(page, '/api/v1/me')).toBe(200)
  expect(await callAsPage(page, '/host/tunnel/list', 'POST')).toBe(200)
  expect(await callAsPage(page, '/api/v1/auth/logout', 'POST')).toBe(204)
  await context.close()
})

test('with more cookies than the console reads, a page says what to do, and the next request has none of them', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await signIn(page)
  const bait = await context.newPage()
  await bait.goto(`http://localhost:${hostile.port}/huge`)
  expect(await context.cookies(console_)).toHaveLength(41)
  const answer = await page.goto(console_)
  expect(answer?.status()).toBe(431)
  await page.getByRole('heading', { name: 'This browser sent too many cookies' }).waitFor()
  await page.getByRole('link', { name: 'Load Berth again' }).click()
  await expect.poll(() => page.title()).toBe('Console')
  expect(await context.cookies(console_)).toEqual([])
  expect(await callAsPage(page, '/api/v1/me')).toBe(401)
  await signIn(page)
  expect(await callAsPage(page, '/api/v1/me')).toBe(200)
  await context.close()
})

test('an open page recovers by itself when a neighbour plants too many cookies', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await signIn(page)
  const bait = await context.newPage()
  await bait.goto(`http://localhost:${hostile.port}/huge`)
  expect(await callAsPage(page, '/api/v1/me')).toBe(431)
  expect(await callAsPage(page, '/api/v1/me')).toBe(401)
  await context.close()
})

test('a page on another port signs nobody out with a request that is longer than the console reads', async () => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await signIn(page)
  const bait = await context.newPage()
  await bait.goto(`http://localhost:${hostile.port}/`)
  const send = (path: string) =>
    bait.evaluate(async url => {
      await fetch(url, { mode: 'no-cors', credentials: 'include' }).catch(() => undefined)
      const image = new Image()
      const done = new Promise(resolve => (image.onload = image.onerror = resolve))
      image.src = url
      await done
    }, `${console_}${path}`)
  const long = `/?${'x'.repeat(70_000)}`
  await send(long)
  expect(await callAsPage(page, '/api/v1/me')).toBe(200)
  // As a link on the page, and as one in a mail: then only the address is too long, and not because of cookies.
  await bait.evaluate(url => void (location.href = url), `${console_}${long}`)
  await bait.getByRole('heading', { name: 'The address of the request is too long' }).waitFor()
  await (await context.newPage()).goto(`${console_}${long}`)
  expect(await callAsPage(page, '/api/v1/me')).toBe(200)
  // Even with too many cookies, a foreign page deletes none, neither by a request nor by a link.
  await bait.goto(`http://localhost:${hostile.port}/huge`)
  const before = (await context.cookies(console_)).length
  await send('/')
  await bait.evaluate(url => void (location.href = url), `${console_}/`)
  await bait.getByRole('heading', { name: 'This browser sent too many cookies' }).waitFor()
  expect(await context.cookies(console_)).toHaveLength(before)
  // The person decides.
  await bait.getByRole('link', { name: 'Delete them' }).click()
  await bait.getByRole('link', { name: 'Load Berth again' }).click()
  await expect.poll(() => bait.title()).toBe('Console')
  await context.close()
})

test('a page on another port cannot act through the browser: no stream, no socket, no call', async () => {
  const context = await browser.newContext()
  await signIn(await context.newPage())
  const bait = await context.newPage()
  await bait.goto(`http://localhost:${hostile.port}/`)
  const outcome = await bait.evaluate(async base => {
    const opened = (open: () => EventTarget) =>
      new Promise<string>(resolve => {
        const target = open()
        target.addEventListener('open', () => resolve('open'))
        target.addEventListener('error', () => resolve('refused'))
      })
    const socketBase = base.replace('http', 'ws')
    const path = '/api/v1/sessions/01900000-0000-7000-8000-0000000000aa/terminal?name=a&cols=80&rows=24'
    const call = (path: string) =>
      fetch(base + path, { credentials: 'include' }).then(
        reply => `status ${reply.status}`,
        () => 'refused',
      )
    return {
      events: await opened(() => new EventSource(`${base}/api/v1/events`, { withCredentials: true })),
      hostEvents: await opened(() => new EventSource(`${base}/host/events`, { withCredentials: true })),
      socket: await opened(() => new WebSocket(socketBase + path, 'berth.terminal.v1')),
      me: await call('/api/v1/me'),
    }
  }, console_)
  expect(outcome).toEqual({ events: 'refused', hostEvents: 'refused', socket: 'refused', me: 'refused' })
  await context.close()
})

test('the origin of an app gets no cookie of the console', async () => {
  const context = await browser.newContext()
  await signIn(await context.newPage())
  hostile.cookies.length = 0
  const app = await context.newPage()
  await app.goto(`http://jupyter--abcdefghijkl.localhost:${hostile.port}/`)
  expect(hostile.cookies).not.toEqual([])
  expect(hostile.cookies.join('')).not.toContain('berth_')
  expect(await app.evaluate(() => localStorage.length)).toBe(0)
  await context.close()
})
