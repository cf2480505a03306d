import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startProxy } from '#proxy'
import { launchBrowser } from '../../fixtures/browser.ts'
import { httpApp, StandIn } from '../../fixtures/proxy-stand-in.ts'

let stack = new AsyncDisposableStack()
afterEach(async () => {
  await stack.disposeAsync()
  stack = new AsyncDisposableStack()
})

/** Serves the app at an origin of its own. @returns a function that makes a URL to open it */
async function originOf(app: Server) {
  await once(app, 'listening')
  stack.defer(() => {
    app.closeAllConnections()
    app.close()
  })
  const port = (app.address() as AddressInfo).port
  const manager = stack.use(await new StandIn([{ app: httpApp('web', '/lab'), port }]).start())
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-test-worker-'))
  stack.defer(() => rm(dataDir, { recursive: true }))
  const options = { managerUrl: manager.url, credentials: manager.credentials, dataDir, userId: manager.userId }
  const proxy = stack.use(await startProxy({ ...options, sshDirectory: join(dataDir, '.ssh') }))
  return async () => (await proxy.tunnel.openApp({ sessionId: manager.session.id, app: 'web' })).url
}

/** Reports every URL that it sees to the app. */
const SPY = `self.addEventListener('install', () => self.skipWaiting())
self.addEventListener('activate', event => event.waitUntil(clients.claim()))
self.addEventListener('fetch', event => event.waitUntil(fetch('/seen?' + encodeURIComponent(event.request.url))))`

const HEADERS: Record<string, Record<string, string>> = {
  '/cached.js': { 'cache-control': 'public, max-age=31536000' },
  '/static/wide.js': { 'service-worker-allowed': '/' },
}

test('an app cannot register a service worker where it would see tickets, and can elsewhere', async () => {
  const seen: string[] = []
  const scripts: string[] = []
  const app = createServer((request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? ''
    if (path.startsWith('/seen')) seen.push(decodeURIComponent(path))
    if (request.headers['service-worker'] !== undefined) scripts.push(path)
    const type = path.endsWith('.js') ? 'text/javascript' : 'text/html'
    response.writeHead(200, { 'content-type': type, ...HEADERS[path] })
    response.end(path.endsWith('.js') ? SPY : '<!doctype html><title>app</title>')
  }).listen(0, '127.0.0.1')
  const open = await originOf(app)
  const browser = stack.use(await launchBrowser())
  const page = await (await browser.newContext()).newPage()
  await page.goto(await open())
  const outcomes = await page.evaluate(async () => {
    const register = (script: string, more?: RegistrationOptions) =>
      navigator.serviceWorker.register(script, more).then(
        ({ scope }) => new URL(scope).pathname,
        (error: unknown) => (error as Error).name,
      )
    await (await fetch('/cached.js')).text()
    return [
      await register('/sw.js'),
      await register('/cached.js', { updateViaCache: 'all' }),
      await register('/static/wide.js', { scope: '/' }),
      await register('/static/own.js'),
    ]
  })
  expect(outcomes).toEqual(['TypeError', 'TypeError', 'SecurityError', '/static/'])
  expect(scripts).toEqual(['/static/wide.js', '/static/own.js'])
  await page.goto(await open())
  expect(await page.title()).toBe('app')
  expect(seen.filter(url => url.includes('ticket'))).toEqual([])
})

/** Sends a form of the page's own, and one from a sandboxed frame in it, both with `Origin: null`. */
const FORMS = `<!doctype html><title>app</title>
<form method=post action=/own><button>own</button></form>
<iframe sandbox="allow-forms allow-scripts" srcdoc="<form method=post action=/framed><button>framed</button></form>"></iframe>`

test('a page with the policy no-referrer sends its own forms, and a sandboxed frame in it sends none', async () => {
  const posted: (string | undefined)[] = []
  const app = createServer((request, response) => {
    if (request.method === 'POST') posted.push(`${request.url ?? ''} ${request.headers.origin ?? ''}`)
    response.writeHead(200, { 'content-type': 'text/html', 'referrer-policy': 'no-referrer' })
    response.end(request.method === 'POST' ? '<!doctype html><title>taken</title>' : FORMS)
  }).listen(0, '127.0.0.1')
  const open = await originOf(app)
  const browser = stack.use(await launchBrowser())
  const page = await (await browser.newContext()).newPage()
  await page.goto(await open())
  const framed = page.waitForResponse(response => response.url().endsWith('/framed'))
  await page.frameLocator('iframe').getByRole('button').click()
  expect((await framed).status()).toBe(403)
  await page.getByRole('button', { name: 'own' }).click()
  await page.waitForURL('**/own')
  expect(await page.title()).toBe('taken')
  expect(posted).toEqual(['/own null'])
})
