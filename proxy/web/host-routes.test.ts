import { once } from 'node:events'
import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { type Guest, type Guests } from './guests.ts'
import { createHostRoutes } from './host-routes.ts'
import { type ThisComputer } from './this-computer.ts'

test('nothing is kept for a client that left while the manager was asked who it is', async () => {
  const admission = Promise.withResolvers<Guest>()
  const hold = vi.fn<Guests['hold']>(() => ({ [Symbol.dispose]: () => undefined }))
  const guests = { admit: () => admission.promise, hold } as unknown as Guests
  const routes = createHostRoutes({
    guests,
    proxyFaults: () => [],
    opensApps: false,
    apps: () => ({ address: null, proposal: null, fault: null }),
    localCommandPort: () => undefined,
    thisComputer: {} as ThisComputer,
    version: '1',
    log: pino({ level: 'silent' }),
  })
  const arrived = Promise.withResolvers<{ response: ServerResponse; done: Promise<void> }>()
  const server = createServer((request, response) => {
    arrived.resolve({ response, done: routes.handle(request, response) })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sent = httpRequest({ host: '127.0.0.1', port, path: '/host/events', agent: false }).end()
  sent.on('error', () => undefined)
  const { response, done } = await arrived.promise
  sent.destroy()
  await once(response, 'close')
  admission.resolve({ proxy: { on: () => () => undefined } } as unknown as Guest)
  await done
  expect(hold).not.toHaveBeenCalled()
  server.close()
})

test('the event stream of a page that does not read is cut instead of growing', async () => {
  let say: (payload: object) => void = () => undefined
  const stopped = vi.fn()
  const on = vi.fn((_event: string, listener: (payload: object) => void) => {
    say = listener
    return stopped
  })
  const hold = () => ({ [Symbol.dispose]: () => undefined })
  const guests = { admit: () => Promise.resolve({ proxy: { on } }), hold } as unknown as Guests
  const routes = createHostRoutes({
    guests,
    proxyFaults: () => [],
    opensApps: false,
    apps: () => ({ address: null, proposal: null, fault: null }),
    localCommandPort: () => undefined,
    thisComputer: {} as ThisComputer,
    version: '1',
    log: pino({ level: 'silent' }),
  })
  const arrived = Promise.withResolvers<ServerResponse>()
  const server = createServer((request, response) => {
    void routes.handle(request, response).then(() => arrived.resolve(response))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause()
  client.on('error', () => undefined)
  client.write('GET /host/events HTTP/1.1\r\nHost: a\r\n\r\n')
  const response = await arrived.promise
  let most = 0
  for (let i = 0; i < 200 && !response.destroyed; i++) {
    say({ text: 'x'.repeat(100_000) })
    most = Math.max(most, response.writableLength)
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(response.destroyed).toBe(true)
  expect(most).toBeLessThan(1.3 * 2 ** 20)
  // The events of tunnels, of their traffic and of SFTP: each subscription ends.
  expect(on).toHaveBeenCalledTimes(4)
  await expect.poll(() => stopped.mock.calls.length).toBe(4)
  client.destroy()
  server.close()
})
