import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../../fixtures/browser.ts'
import { startWebConsole } from '../../fixtures/web-console.ts'

let browser: Browser
beforeAll(async () => void (browser = await launchBrowser()))
afterAll(() => browser.close())

const WORKER = `addEventListener('install', () => skipWaiting())
addEventListener('activate', event => event.waitUntil(clients.claim()))
addEventListener('fetch', event => event.respondWith(new Response('<title>Not Berth</title>', { headers: { 'content-type': 'text/html' } })))`

test('a service worker that another program left at the address of the console is gone with the first visit, unless the browser keeps its script', async () => {
  await using stack = new AsyncDisposableStack()
  const squatter = createServer((request, response) => {
    const isScript = request.url === '/deep/worker.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.setHeader('service-worker-allowed', '/')
    response.setHeader('cache-control', 'max-age=86400')
    response.end(isScript ? WORKER : '<title>Not Berth</title>')
  }).listen(0, '127.0.0.1')
  await once(squatter, 'listening')
  const { port } = squatter.address() as AddressInfo
  const page = await browser.newPage()
  await page.goto(`http://127.0.0.1:${String(port)}/`)
  await page.evaluate(async () => {
    await navigator.serviceWorker.register('/deep/worker.js', { scope: '/', updateViaCache: 'none' })
    await navigator.serviceWorker.ready
  })
  squatter.close()
  squatter.closeAllConnections()
  await startWebConsole(stack, { port })
  await page.goto(`http://127.0.0.1:${String(port)}/`)
  await expect.poll(() => page.title().catch(() => '')).toBe('Berth')
  expect(await page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)).toBe(0)
  await page.close()
})
