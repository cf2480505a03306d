import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type Duplex } from 'node:stream'
import { afterEach, expect, test } from 'vitest'
import { parseAppsAddress } from '#manager/contract'
import { createHttpServer } from '../../../proxy/http/create-server.ts'
import { silentLog } from '../../../proxy/log.ts'
import { createPublicApp, type PublicApp, type PublicAppDeps } from '../../../proxy/web/public-apps/public-app.ts'
import { launchBrowser } from '../../fixtures/browser.ts'

/** A port over http changes from one app to the next: data that the first left in a browser is not available to the second. */

const HOST = 'berth.example.org'
const stack = new AsyncDisposableStack()
afterEach(() => stack.disposeAsync())

/** An app that stores everything that it can in a browser, and shows its name with a script that browsers cache for a year. */
const PAGE = `<!doctype html><script src="/static.js"></script><script>
  const left = [localStorage.length, sessionStorage.length]
  indexedDB.databases().then(databases => {
    document.body.append(JSON.stringify([...left, databases.length]))
    localStorage.theme = 'evil'
    sessionStorage.theme = 'evil'
    indexedDB.open('evil').onsuccess = () => document.body.append(' done')
  })
</script><body>`

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => {
    server.close().closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

async function anApp(name: string): Promise<number> {
  return await listening(
    createServer((request, response) => {
      const isScript = request.url === '/static.js'
      response.setHeader('cache-control', isScript ? 'public, max-age=31536000, immutable' : 'no-store')
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
      response.end(isScript ? `document.title = '${name}'` : PAGE)
    }),
  )
}

test('storage, databases and cache of the app before are gone, and those of the same app stay', async () => {
  let current: PublicApp | undefined
  const port = await listening(
    createHttpServer({
      onRequest: (request, response) => current?.request(request, response),
      log: silentLog,
    }),
  )
  const origin = `http://${HOST}:${port}`
  const address = parseAppsAddress(`${origin}-${port}`)
  const place = async (name: string) => {
    const app = await anApp(name)
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
    const served = { id: name, name: name.padEnd(16, 'a'), port, sessionId: 's', app: 'web', path: '/', title: name }
    const rest = {
      sessionName: 'train',
      needsPassword: false,
      addresses: [],
      expiresAt,
      visitSecret: name,
      admits: 'links',
    }
    const grant = { grant: 'g', sessionId: 's', app: 'web', expiresAt, inject: null }
    const deps = {
      served: { ...served, ...rest },
      place: String(port),
      address,
      api: {
        getServedApp: () => Promise.resolve(served),
        grantServedApp: () => Promise.resolve(grant),
        visitServedApp: () => Promise.resolve(undefined),
      },
      transport: {
        dial: async () => {
          const socket = connect({ port: app, host: '127.0.0.1', allowHalfOpen: true })
          await once(socket, 'connect')
          return socket
        },
        stream: (socket: Duplex) => socket,
      },
      addressOf: () => '203.0.113.7',
      onEnded: () => undefined,
      log: silentLog,
    }
    // FAKE of manager and tunnel: the app answers at once.
    return stack.use(createPublicApp(deps as unknown as PublicAppDeps))
  }
  const [first, second] = [await place('first'), await place('second')]
  await using browser = await launchBrowser({ names: `MAP ${HOST} 127.0.0.1` })
  const page = await (await browser.newContext()).newPage()
  const visit = async (app: PublicApp) => {
    current = app
    await page.goto(`${origin}/_berth/open?key=k`)
    await page.getByText('done').waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
    return [await page.title(), (await page.locator('body').innerText()).split(' ')[0]]
  }
  expect(await visit(first)).toEqual(['first', '[0,0,0]'])
  expect(await visit(first)).toEqual(['first', '[1,1,1]'])
  expect(await visit(second)).toEqual(['second', '[0,0,0]'])
})
