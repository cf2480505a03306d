import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { splice } from './splice.ts'

/** Both ends of a connection. */
async function aPair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  for (const socket of [near, far]) socket.on('error', () => undefined)
  return [near, far]
}

test.each<[string, (client: Socket, service: Socket) => void]>([
  ['both are destroyed in one turn', (client, service) => (client.destroy(), service.destroy())],
  ['the client is destroyed', client => client.destroy()],
  ['the service is reset', (_, service) => service.resetAndDestroy()],
])('the end is told once when %s', async (_name, end) => {
  const [[, client], [service]] = [await aPair(), await aPair()]
  const onEnd = vi.fn()
  splice(client, service, onEnd)
  const closed = [once(client, 'close'), once(service, 'close')]
  end(client, service)
  await Promise.all(closed)
  expect(onEnd).toHaveBeenCalledTimes(1)
})

test('an end that came before the other one was dialled reaches it, and its answer comes back', async () => {
  const [[program, client], [service, server]] = [await aPair(), await aPair()]
  // Like a listener that waits for a dial: the socket flows, and nobody listens.
  client.resume()
  program.end()
  await once(client, 'end')
  const answered = once(program, 'data')
  server.on('end', () => server.end('0')).resume()
  splice(client, service, () => undefined)
  expect(String(await answered)).toBe('0')
})

test('one that broke before is the end of the other one', async () => {
  const [[, client], [service]] = [await aPair(), await aPair()]
  client.destroy()
  await once(client, 'close')
  const onEnd = vi.fn()
  splice(client, service, onEnd)
  await expect.poll(() => onEnd).toHaveBeenCalledTimes(1)
  expect(service.destroyed).toBe(true)
})
