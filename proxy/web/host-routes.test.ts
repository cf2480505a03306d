import { once } from 'node:events'
import { createServer, request as httpRequest, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { type Guest, type Guests } from './guests.ts'
import { createHostRoutes } from './host-routes.ts'
import { type ThisComputer } from './this-computer.ts'

test('nothing is held for a client that went away while the manager was asked who it is', async () => {
  const admission = Promise.withResolvers<Guest>()
  const hold = vi.fn<Guests['hold']>(() => ({ [Symbol.dispose]: () => undefined }))
  const guests = { admit: () => admission.promise, hold } as unknown as Guests
  const routes = createHostRoutes({
    guests,
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
