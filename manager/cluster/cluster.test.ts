import { expect, test, vi } from 'vitest'
import { silentLog } from '../log.ts'
import { createPeers, type PeersHub } from './peers.ts'
import { createJobLocks } from './job-locks.ts'

function pair(): { a: PeersHub; b: PeersHub; sent: string[]; broken: { now: boolean } } {
  const sent: string[] = []
  const broken = { now: false }
  const hubs: PeersHub[] = []
  const notify = (payload: string) => {
    if (broken.now) return Promise.reject(new Error('no connection'))
    sent.push(payload)
    for (const hub of hubs) hub.receive(payload)
    return Promise.resolve()
  }
  const a = createPeers({ processId: 'a', notify, log: silentLog })
  const b = createPeers({ processId: 'b', notify, log: silentLog })
  hubs.push(a, b)
  return { a, b, sent, broken }
}

test('messages reach the other managers in order, several in one notification, and never their sender', async () => {
  const { a, b, sent } = pair()
  const heard: number[] = []
  const own = vi.fn()
  b.topic<number>('n').on(n => void heard.push(n))
  a.topic<number>('n').on(own)
  for (let n = 0; n < 2_000; n++) a.topic<number>('n').tell(n)
  await a.flushed()
  expect(heard).toEqual(Array.from({ length: 2_000 }, (_, n) => n))
  expect(own).not.toHaveBeenCalled()
  expect(sent.length).toBeLessThan(10)
  expect(Math.max(...sent.map(payload => Buffer.byteLength(payload)))).toBeLessThan(8_000)
})

test('messages that could not be sent are reported as a gap once the connection is back', async () => {
  const { a, b, broken } = pair()
  const [gapHere, gapThere, heard] = [vi.fn(), vi.fn(), vi.fn()]
  a.onGap(gapHere)
  b.onGap(gapThere)
  b.topic<number>('n').on(heard)
  broken.now = true
  a.topic<number>('n').tell(1)
  await a.flushed()
  broken.now = false
  a.reopened()
  await a.flushed()
  expect([gapHere, gapThere, heard].map(({ mock }) => mock.calls.length)).toEqual([1, 1, 0])
})

test('after a message that is too long, or from a stranger, the others check everything', async () => {
  const { a, b } = pair()
  const gap = vi.fn()
  b.onGap(gap)
  a.topic<string>('text').tell('x'.repeat(9_000))
  await a.flushed()
  expect(gap).toHaveBeenCalledTimes(1)
  b.receive('not JSON')
  expect(gap).toHaveBeenCalledTimes(2)
})

test.each(['null', '1', '{}', '{"from":"x","told":1}', '{"from":"x","told":[null]}', '{"from":"x","told":[[1,2]]}'])(
  'the notification %s of a stranger does no harm, and all managers check everything',
  payload => {
    const { b } = pair()
    const gap = vi.fn()
    b.onGap(gap)
    b.receive(payload)
    expect(gap).toHaveBeenCalledTimes(1)
  },
)

test('a listener that throws does not keep the others from their messages', async () => {
  const { a, b } = pair()
  const heard = vi.fn()
  b.topic<number>('n').on(() => {
    throw new Error('oops')
  })
  b.topic<number>('n').on(heard)
  a.topic<number>('n').tell(1)
  await a.flushed()
  expect(heard).toHaveBeenCalledWith(1)
})

test('a turn is requested once at a time, kept without further requests, and lost with the connection', async () => {
  const query = vi.fn(() => Promise.resolve([{ taken: true }]))
  const locks = createJobLocks(query)
  const taken = vi.fn()
  locks.onTaken(taken)
  expect(await Promise.all([locks.take('x'), locks.take('x')])).toEqual([true, true])
  expect(await locks.take('x')).toBe(true)
  expect(query).toHaveBeenCalledTimes(1)
  expect(taken).toHaveBeenCalledTimes(1)
  locks.lost()
  expect(locks.holds('x')).toBe(false)
})

test('a turn is not granted if its connection was lost during the request', async () => {
  const { promise, resolve } = Promise.withResolvers<readonly { taken: boolean }[]>()
  const locks = createJobLocks(() => promise)
  const asked = locks.take('x')
  locks.lost()
  resolve([{ taken: true }])
  expect(await asked).toBe(false)
  expect(locks.holds('x')).toBe(false)
})
