import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { Splice } from './splice.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** Both ends of a connection; ours first. */
async function pair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const far = connect({ host: '127.0.0.1', port, allowHalfOpen: true }).on('error', () => undefined)
  const [near] = (await once(server, 'connection')) as [Socket]
  server.close()
  sockets.push(near, far)
  return [near, far]
}

async function splice(next: () => Promise<Socket> = () => Promise.reject(new Error('no other socket'))) {
  const [client, browser] = await pair()
  const [agent, far] = await pair()
  const onEnd = vi.fn()
  const start = () => new Splice({ client, agent, header: Buffer.from('{}\n'), head: Buffer.alloc(0), next, onEnd })
  return { start, onEnd, client, browser, agent, far }
}

test('a client that breaks off before the agent has answered ends the tunnel', async () => {
  const { start, onEnd, browser, agent } = await splice()
  start()
  browser.resetAndDestroy()
  await vi.waitFor(() => expect(onEnd).toHaveBeenCalledOnce())
  expect(agent.destroyed).toBe(true)
})

test('a data socket that broke before it was joined is replaced by the next', async () => {
  const [spare, farSpare] = await pair()
  const { start, agent } = await splice(() => Promise.resolve(spare))
  agent.destroy()
  start()
  const [header] = (await once(farSpare, 'data')) as [Buffer]
  expect(header.toString()).toBe('{}\n')
})
