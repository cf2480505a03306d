import { duplexPair, type Duplex } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { silentLog } from '../log.ts'
import { type Connection, Connections } from './connections.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const turn = () => new Promise(resolve => setImmediate(resolve))

/** Connections to peers of the test; `peers[i]` is the other end of the i-th dialled connection. */
function pool() {
  const peers: Duplex[] = []
  const connections = new Connections(() => {
    const [near, far] = duplexPair()
    peers.push(far)
    return Promise.resolve(near)
  }, silentLog)
  const takeFor = (isSentOnce: boolean) =>
    new Promise<Connection>((taken, failed) => {
      connections.take({ isGone: false, isSentOnce, taken, failed })
    })
  const take = () => takeFor(false)
  return { connections, peers, take, takeFor }
}

test('a connection that was given back serves the next request, the last one first', async () => {
  const { connections, peers, take } = pool()
  const [first, second] = [await take(), await take()]
  expect(first.isReused).toBe(false)
  connections.giveBack(first)
  connections.giveBack(second)
  expect(await take()).toBe(second)
  expect(second.isReused).toBe(true)
  expect(await take()).toBe(first)
  expect(peers).toHaveLength(2)
})

test('a request that is not sent again gets a new connection: the app may be closing a kept one', async () => {
  const { connections, take, takeFor } = pool()
  const first = await take()
  connections.giveBack(first)
  expect(await takeFor(true)).not.toBe(first)
  // Other callers take the kept one.
  expect(await take()).toBe(first)
})

test('kept connections do not keep a request waiting that wants a new one', async () => {
  const { connections, take, takeFor } = pool()
  const all = await Promise.all(Array.from({ length: 256 }, take))
  connections.giveBack(all[0] as Connection)
  expect(all).not.toContain(await takeFor(true))
  const waiting = takeFor(true)
  connections.giveBack(all[1] as Connection)
  expect(all).not.toContain(await waiting)
})

test('a request that waits for a connection for five seconds is told that all are in use; the next one gets what is free', async () => {
  const { connections, take, takeFor } = pool()
  const all = await Promise.all(Array.from({ length: 256 }, take))
  const tooLong = expect(takeFor(true)).rejects.toMatchObject({
    code: 'unavailable',
    detail: { cause: 'app_connections_at_most', values: { count: 256 } },
  })
  vi.advanceTimersByTime(4_999)
  const inTime = take()
  vi.advanceTimersByTime(1)
  await tooLong
  connections.giveBack(all[0] as Connection)
  expect(await inTime).toBe(all[0])
  vi.advanceTimersByTime(10_000)
})

test.each([
  ['bytes that nobody asked for', (peer: Duplex) => peer.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen')],
  ['its end', (peer: Duplex) => peer.end()],
])('an idle connection that receives %s is closed', async (_, act) => {
  const { connections, peers, take } = pool()
  const taken = await take()
  connections.giveBack(taken)
  act(peers[0] as Duplex)
  await turn()
  expect(taken.stream.destroyed).toBe(true)
  expect(await take()).not.toBe(taken)
})

test('a connection that was given back with unread bytes, or after its end, is closed', async () => {
  const { connections, peers, take } = pool()
  const taken = await take()
  taken.user = { onBytes: () => undefined, onEnd: () => undefined, onClosed: () => undefined }
  taken.stream.pause()
  peers[0]?.write('late')
  await turn()
  connections.giveBack(taken)
  expect(taken.stream.destroyed).toBe(true)
  const ended = await take()
  ended.user = { onBytes: () => undefined, onEnd: () => undefined, onClosed: () => undefined }
  peers[1]?.end()
  await turn()
  connections.giveBack(ended)
  expect(ended.stream.destroyed).toBe(true)
})

test('connections are closed 30 seconds after their last request', async () => {
  const { connections, take } = pool()
  const [first, second] = [await take(), await take()]
  connections.giveBack(first)
  vi.advanceTimersByTime(20_000)
  connections.giveBack(second)
  vi.advanceTimersByTime(10_001)
  expect([first.stream.destroyed, second.stream.destroyed]).toEqual([true, false])
  vi.advanceTimersByTime(20_000)
  expect(second.stream.destroyed).toBe(true)
})

test('at most 256 connections exist, the next request waits for one, and 32 are kept', async () => {
  const { connections, peers, take } = pool()
  const all = await Promise.all(Array.from({ length: 256 }, take))
  const gone = { isGone: true, isSentOnce: false, taken: vi.fn(), failed: vi.fn() }
  connections.take(gone)
  const [next, later] = [take(), take()]
  await turn()
  expect(peers).toHaveLength(256)
  connections.giveBack(all[0] as Connection)
  expect(await next).toBe(all[0])
  // A connection that breaks makes room for a new one.
  all[1]?.stream.destroy()
  expect(all).not.toContain(await later)
  expect(gone.taken).not.toHaveBeenCalled()
  for (const connection of all.slice(2)) connections.giveBack(connection)
  expect(all.filter(({ stream }) => !stream.destroyed)).toHaveLength(33)
})

test('a dial that fails is told, and the next waiting request dials again', async () => {
  const dials: PromiseWithResolvers<Duplex>[] = []
  const connections = new Connections(() => {
    const dial = Promise.withResolvers<Duplex>()
    dials.push(dial)
    return dial.promise
  }, silentLog)
  const told: string[] = []
  const taker = (name: string) => ({
    isGone: false,
    isSentOnce: false,
    taken: () => told.push(name),
    failed: (error: Error) => told.push(`${name}: ${error.message}`),
  })
  for (let i = 0; i <= 256; i++) connections.take(taker(String(i)))
  expect(dials).toHaveLength(256)
  dials[7]?.reject(new Error('refused'))
  await turn()
  expect(told).toEqual(['7: refused'])
  expect(dials).toHaveLength(257)
  connections.close()
  const late = duplexPair()[0]
  dials[256]?.resolve(late)
  await turn()
  expect(late.destroyed).toBe(true)
})

test('closing closes idle and busy connections and refuses those who wait', async () => {
  const { connections, take } = pool()
  const all = await Promise.all(Array.from({ length: 256 }, take))
  const waiting = take()
  connections.giveBack(all[0] as Connection)
  const refused = take()
  connections.close()
  await waiting
  await expect(refused).rejects.toThrow('closed')
  expect(all.every(({ stream }) => stream.destroyed)).toBe(true)
})
