import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { consoleHostsOf } from '../config/berth-toml/read.ts'
import { NO_SETTINGS } from '../config/berth-toml/parse.ts'
import { type HeldPort, holdPort } from './held-port.ts'

const HERE = ['127.0.0.1']

/** A client, and whether its connection has ended. */
async function connectTo({ port }: HeldPort) {
  const socket = connect(port, '127.0.0.1')
  const seen = { isClosed: false }
  socket.on('error', () => undefined).once('close', () => (seen.isClosed = true))
  await once(socket, 'connect')
  return { socket, seen }
}

test('connections wait while nobody takes them, then go to the taker in their order, the later ones too', async () => {
  await using held = await holdPort(HERE, 0)
  const clients = [await connectTo(held), await connectTo(held)]
  const taken: Socket[] = []
  held.handTo(socket => taken.push(socket))
  clients.push(await connectTo(held))
  await expect.poll(() => taken.length).toBe(3)
  expect(taken.map(({ remotePort }) => remotePort)).toEqual(clients.map(({ socket }) => socket.localPort))
  held.hold()
  const late = await connectTo(held)
  for (const socket of taken) socket.destroy()
  await expect.poll(() => clients.every(({ seen }) => seen.isClosed)).toBe(true)
  expect([taken.length, late.seen.isClosed]).toEqual([3, false])
})

test('a connection that nobody takes in time ends, and so do later ones, and the oldest where too many wait', async () => {
  await using held = await holdPort(HERE, 0, { waitMs: 1_500, mostWaiting: 1 })
  const first = await connectTo(held)
  const second = await connectTo(held)
  await expect.poll(() => first.seen.isClosed).toBe(true)
  expect(second.seen.isClosed).toBe(false)
  await expect.poll(() => second.seen.isClosed).toBe(true)
  const late = await connectTo(held)
  await expect.poll(() => late.seen.isClosed).toBe(true)
  held.hold()
  const again = await connectTo(held)
  const taken: Socket[] = []
  held.handTo(socket => taken.push(socket))
  await expect.poll(() => taken.length).toBe(1)
  expect(again.seen.isClosed).toBe(false)
  for (const socket of taken) socket.destroy()
})

test('connections that wait end with the port, which is free then', async () => {
  const held = await holdPort(HERE, 0)
  const client = await connectTo(held)
  await held[Symbol.asyncDispose]()
  await expect.poll(() => client.seen.isClosed).toBe(true)
  await using again = await holdPort(HERE, held.port)
  expect(again.port).toBe(held.port)
})

test('a port of two addresses is taken if another program has it at one of them', async () => {
  const other = createServer().listen(0, '127.0.0.2')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  await expect(holdPort(['127.0.0.1', '127.0.0.2'], port)).rejects.toMatchObject({
    code: 'port_in_use',
    detail: { port },
  })
  await using free = await holdPort(HERE, port)
  expect(free.port).toBe(port)
  other.close()
})

/** Whether another program can listen there. */
async function isFree(host: string, port: number): Promise<boolean> {
  const other = createServer().listen({ host, port, ipv6Only: host === '::1' })
  try {
    await once(other, 'listening')
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'EADDRINUSE' })
    return false
  } finally {
    other.close()
  }
}

test.each(['0.0.0.0', '0', '::', '0:0:0:0:0:0:0:0', '::ffff:127.0.0.1', '127.0.0.2', 'localhost', undefined])(
  'with the console at %s nobody else listens at the addresses of localhost',
  async host => {
    const hosts = consoleHostsOf(NO_SETTINGS, host === undefined ? {} : { BERTH_HOST: host })
    await using held = await holdPort(hosts, 0)
    expect(await isFree('127.0.0.1', held.port)).toBe(false)
    expect(await isFree('::1', held.port)).toBe(false)
  },
)
