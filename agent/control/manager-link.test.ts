import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { type ManagerLinkDeps, startManagerLink } from './manager-link.ts'
import { openLink } from './open-link.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

const CHALLENGE = {
  type: 'challenge',
  nonce: 'n',
  managerId: '01900000-0000-7000-8000-000000000001',
  processId: 'slow',
}

/** A manager that answers a handshake after this time. */
async function startManager({ afterMs }: { readonly afterMs: number }) {
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer()
  let asked = 0
  server.on('connection', () => asked++)
  server.on('upgrade', (request, socket, head) => {
    const answer = () => sockets.handleUpgrade(request, socket, head, link => link.send(JSON.stringify(CHALLENGE)))
    setTimeout(answer, afterMs)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(async () => {
    for (const client of sockets.clients) client.terminate()
    await new Promise(done => server.close(done))
  })
  const where = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, fingerprint: undefined }
  return { where, asked: () => asked }
}

test('a manager that has taken the connection, and is slow to answer, is not asked for through another one', async () => {
  const [slow, other] = [await startManager({ afterMs: 900 }), await startManager({ afterMs: 0 })]
  const door = { ...other.where, processId: 'other', dataToken: 'x', proven: true }
  const ways = { where: slow.where, route: { door, to: 'slow' }, isDirectUseless: false }
  const { link, route } = await openLink(ways, new AbortController().signal)
  link[Symbol.dispose]()
  expect([route, other.asked()]).toEqual([undefined, 0])
})

test('an attempt that has reached the manager goes on when the list of managers changes', async () => {
  const manager = await startManager({ afterMs: 300 })
  const introduced = Promise.withResolvers<undefined>()
  const deps: Partial<ManagerLinkDeps> = {
    where: () => manager.where,
    route: () => undefined,
    isTaken: () => false,
    onFreed: () => undefined,
    onFailure: () => 'stop',
    introduce() {
      introduced.resolve(undefined)
      return Promise.reject(new Error('enough'))
    },
    isLocal: true,
    log: pino({ level: 'silent' }),
  }
  await using link = startManagerLink(deps as ManagerLinkDeps)
  await expect.poll(manager.asked).toBe(1)
  link.wake()
  await introduced.promise
  expect(manager.asked()).toBe(1)
})
