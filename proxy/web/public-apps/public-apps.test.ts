import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { AppError, parseAppsAddress, toProblem } from '#manager/contract'
import { createHttpServer } from '../../http/create-server.ts'
import { silentLog } from '../../log.ts'
import { createPublicApps } from './public-apps.ts'

const NAME = 'abcdefghijklmnop'
const SERVED = {
  ...{ id: '01900000-0000-7000-8000-000000000001', name: NAME, port: null, admits: 'links', needsPassword: false },
  ...{ sessionId: '01900000-0000-7000-8000-000000000002', sessionName: 'train', app: 'web', title: 'Web', path: '/' },
  ...{ addresses: [], expiresAt: '2100-01-01T00:00:00.000Z', visitSecret: 's'.repeat(43) },
}

test('names that strangers make up keep nobody from an app that is known here', async () => {
  await using stack = new AsyncDisposableStack()
  let asked = 0
  const unknown = JSON.stringify(toProblem(new AppError('published_app_not_found')))
  const manager = createServer(({ url }, response) => {
    if (url?.endsWith(NAME)) response.setHeader('content-type', 'application/json').end(JSON.stringify(SERVED))
    // Questions of strangers are not answered.
    else if (++asked > 16) response.writeHead(404, { 'content-type': 'application/problem+json' }).end(unknown)
  }).listen(0, '127.0.0.1')
  await once(manager, 'listening')
  stack.defer(() => manager.close().closeAllConnections())
  const address = parseAppsAddress('http://*.apps.example.org')
  if (!address) throw new Error('the address is one')
  let nowMs = 0
  const managerUrl = `http://127.0.0.1:${(manager.address() as AddressInfo).port}`
  const apps = stack.use(
    createPublicApps({ address, managerUrl, consoleSecret: 's'.repeat(32), log: silentLog, now: () => nowMs }),
  )
  const server = createHttpServer({
    onRequest: (asking, response) => apps.request(apps.placeOf(asking.headers.host) ?? '', asking, response),
    log: silentLog,
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => server.close().closeAllConnections())

  const ask = (name: string) => {
    const { port } = server.address() as AddressInfo
    const headers = { host: `${name}.apps.example.org` }
    return request({ host: '127.0.0.1', port, agent: false, headers })
      .on('error', () => undefined)
      .end()
  }
  const statusOf = async (name: string) =>
    ((await once(ask(name), 'response')) as [IncomingMessage])[0].resume().statusCode
  const refused = await statusOf(NAME)
  for (let index = 0; index < 16; index++) ask(`stranger${index}`)
  await expect.poll(() => asked).toBe(16)
  expect(await statusOf('stranger')).toBe(503)
  nowMs = 60_000
  expect(await statusOf(NAME)).toBe(refused)
  expect(refused).toBe(403)
})
