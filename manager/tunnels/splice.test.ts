import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
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

test('a client that disconnects before the agent has answered ends the tunnel', async () => {
  const { start, onEnd, browser, agent } = await splice()
  start()
  browser.resetAndDestroy()
  await expect.poll(() => onEnd).toHaveBeenCalledOnce()
  expect(agent.destroyed).toBe(true)
})

test('a data socket that broke before the splice is replaced by the next one', async () => {
  const [spare, farSpare] = await pair()
  const { start, agent } = await splice(() => Promise.resolve(spare))
  agent.destroy()
  start()
  const [header] = (await once(farSpare, 'data')) as [Buffer]
  expect(header.toString()).toBe('{}\n')
})

const KiB = 1024

/** A socket with Node's usual limit. `fill` makes its kernel stop taking writes; `drain` makes it take them. */
function stub() {
  const untaken: (() => void)[] = []
  let kernelIsFull = false
  const stream = new Duplex({
    highWaterMark: 64 * KiB,
    allowHalfOpen: true,
    read: () => undefined,
    write: (_chunk, _encoding, done) => {
      if (kernelIsFull) untaken.push(done)
      else done()
    },
  })
  const fill = () => (kernelIsFull = true)
  const drain = () => {
    kernelIsFull = false
    for (const done of untaken.splice(0)) done()
  }
  return { socket: stream as unknown as Socket, fill, drain, says: (bytes: number) => stream.push(Buffer.alloc(bytes)) }
}

function spliceStubs({ agent = stub() } = {}) {
  const [client, spare] = [stub(), stub()]
  const next = () => Promise.resolve(spare.socket)
  const header = Buffer.from('{}\n')
  new Splice({ client: client.socket, agent: agent.socket, header, head: Buffer.alloc(0), next, onEnd: vi.fn() })
  return { client, agent, spare }
}

const settled = () => new Promise(setImmediate)

test('an early upload continues with the answer, also while a part of it is on its way to the agent', async () => {
  const { client, agent } = spliceStubs()
  client.says(10 * KiB)
  await settled()
  agent.fill()
  for (let i = 0; i < 2; i++) {
    client.says(30 * KiB)
    await settled()
  }
  expect(agent.socket.writableNeedDrain).toBe(false)
  expect(client.socket.isPaused()).toBe(true)
  agent.says(1)
  await settled()
  expect(client.socket.isPaused()).toBe(false)
})

test('a client that has sent as much as is buffered waits for the answer, however fast the agent reads', async () => {
  const { client, agent } = spliceStubs()
  agent.fill()
  client.says(64 * KiB)
  await settled()
  agent.drain()
  await settled()
  expect(client.socket.isPaused()).toBe(true)
  agent.says(1)
  await settled()
  expect(client.socket.isPaused()).toBe(false)
})

test('after the answer too, a client waits for an agent that reads nothing', async () => {
  const { client, agent } = spliceStubs()
  agent.fill()
  client.says(64 * KiB)
  await settled()
  agent.says(1)
  await settled()
  expect(client.socket.isPaused()).toBe(true)
  agent.drain()
  await settled()
  expect(client.socket.isPaused()).toBe(false)
})

test('a client whose data socket died continues with the next one', async () => {
  const agent = stub()
  agent.fill()
  const { client, spare } = spliceStubs({ agent })
  client.says(64 * KiB - 3)
  await settled()
  expect(client.socket.isPaused()).toBe(true)
  agent.socket.destroy()
  await settled()
  expect(client.socket.isPaused()).toBe(false)
  expect(spare.socket.destroyed).toBe(false)
})
