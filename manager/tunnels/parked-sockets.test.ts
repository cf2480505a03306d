import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentId } from '#manager/contract'
import { createParkedSockets } from './parked-sockets.ts'

const A = AgentId.parse('01900000-0000-7000-8000-00000000000a')
const B = AgentId.parse('01900000-0000-7000-8000-00000000000b')
const never = new AbortController().signal
const server = createServer()
const far: Socket[] = []

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => {
  server.close()
  for (const socket of far) socket.destroy()
})

/** Both ends of a data socket: the manager's (`near`) and the agent's. */
async function pair(): Promise<{ near: Socket; agent: Socket }> {
  const agent = connect((server.address() as AddressInfo).port, '127.0.0.1')
  agent.on('error', () => undefined)
  const [near] = (await once(server, 'connection')) as [Socket]
  far.push(agent)
  return { near, agent }
}

test('an agent gets its own sockets only, the newest first', async () => {
  using parked = createParkedSockets({ takeTimeoutMs: 50 })
  const [first, second, other] = [await pair(), await pair(), await pair()]
  parked.park(A, first.near)
  parked.park(A, second.near)
  parked.park(B, other.near)
  expect(await parked.take(A, never)).toBe(second.near)
  expect(await parked.take(A, never)).toBe(first.near)
  await expect(parked.take(A, never)).rejects.toMatchObject({ code: 'agent_unreachable' })
  expect(parked.count(B)).toBe(1)
})

test('waiting requests get the next parked sockets in order', async () => {
  using parked = createParkedSockets()
  const waiting = [parked.take(A, never), parked.take(A, never)]
  const [first, second] = [await pair(), await pair()]
  parked.park(A, first.near)
  parked.park(A, second.near)
  expect(await Promise.all(waiting)).toEqual([first.near, second.near])
  expect(parked.count(A)).toBe(0)
})

test('a socket that ends, breaks or sends bytes before it is taken is forgotten', async () => {
  using parked = createParkedSockets()
  for (const leave of [
    (agent: Socket) => agent.end(),
    (agent: Socket) => agent.resetAndDestroy(),
    (agent: Socket) => agent.write('too early'),
  ]) {
    const { near, agent } = await pair()
    parked.park(A, near)
    expect(parked.count(A)).toBe(1)
    leave(agent)
    await expect.poll(() => parked.count(A)).toBe(0)
    expect(near.destroyed).toBe(true)
  }
})

test('a taken socket keeps no listener of the pool', async () => {
  using parked = createParkedSockets()
  const { near } = await pair()
  const before = near.eventNames().map(name => [name, near.listenerCount(name)])
  parked.park(A, near)
  await parked.take(A, never)
  expect(near.eventNames().map(name => [name, near.listenerCount(name)])).toEqual(before)
})

test('requests fail at once when their agent is gone; a client that left waits no longer', async () => {
  using parked = createParkedSockets()
  const waiting = parked.take(A, never)
  parked.drop(A)
  await expect(waiting).rejects.toMatchObject({ code: 'agent_unreachable' })
  const gone = new AbortController()
  const abandoned = parked.take(A, gone.signal)
  gone.abort(new Error('the client went away'))
  await expect(abandoned).rejects.toThrow('the client went away')
  const { near } = await pair()
  parked.park(A, near)
  expect(parked.count(A)).toBe(1)
})
