import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket, connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { type WebSocket } from 'ws'
import { AgentId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { AgentConnection } from './connection.ts'
import { createConnections } from './connections.ts'

const LOST_MS = 50

/** An agent on a TCP connection of which every byte is a message. */
async function startAgent() {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(createServer().listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const agent = stack.adopt(connect((server.address() as AddressInfo).port, '127.0.0.1'), it => void it.destroy())
  const [socket] = await accepted
  const lost: AgentId[] = []
  const connections = createConnections({
    now: Date.now,
    lostMs: LOST_MS,
    seek: undefined,
    onLost: id => void lost.push(id),
  })
  stack.defer(() => connections.close())
  const agentId = newId(AgentId)
  const connection = {
    agentId,
    open: true,
    wasHeldUpWithin: () => false,
    end: () => undefined,
  } as unknown as AgentConnection
  connections.set(connection)
  socket.on('data', () => connections.seen(connection))
  connections.seen(connection)
  const opened = stack.move()
  return { agentId, agent, socket, lost, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('a silent agent is lost', async () => {
  await using it = await startAgent()
  await expect.poll(() => it.lost).toEqual([it.agentId])
})

test('a manager that stood still reads what came meanwhile before it counts an agent as lost', async () => {
  await using it = await startAgent()
  const read = once(it.socket, 'data')
  it.agent.write('.')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4 * LOST_MS)
  await read
  expect(it.lost).toEqual([])
})

test('the silence of an agent counts from when it is read again', async () => {
  vi.useFakeTimers()
  try {
    const lost: AgentId[] = []
    const options = { now: Date.now, seek: undefined, onLost: (id: AgentId) => void lost.push(id) }
    const connections = createConnections({ ...options, lostMs: 1_000 })
    const socket = { readyState: 1, pause: vi.fn(), resume: vi.fn(), close: vi.fn(), terminate: vi.fn() }
    const agentId = newId(AgentId)
    const agent = { agentId, agentName: 'host', dataToken: 'token' }
    const connection = new AgentConnection(agent, socket as unknown as WebSocket)
    connections.set(connection)
    connections.seen(connection)
    let isFull = true
    connection.holdUpFor(performance.now(), 1, () => isFull)
    await vi.advanceTimersByTimeAsync(950)
    isFull = false
    await vi.advanceTimersByTimeAsync(40)
    expect(socket.resume).toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(900)
    expect(lost).toEqual([])
    await vi.advanceTimersByTimeAsync(2_000)
    expect(lost).toEqual([agentId])
  } finally {
    vi.useRealTimers()
  }
})
