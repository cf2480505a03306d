import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createUnauthenticatedPeers } from './unauthenticated-peers.ts'

const peer = () => new PassThrough()

test('the connection that has waited longest makes room; connections that answered or were accepted stay', () => {
  const peers = createUnauthenticatedPeers({ count: 3, bytes: 100 })
  const sockets = Array.from({ length: 6 }, peer)
  const [agent, waits, silent, other, last, beyond] = sockets as [PassThrough, ...PassThrough[]]
  const destroyed = () => sockets.map(socket => socket.destroyed)
  peers.admit(agent).accepted()
  peers.admit(waits as PassThrough).answered()
  peers.admit(silent as PassThrough)
  peers.admit(other as PassThrough)
  expect(destroyed()).toEqual([false, false, false, false, false, false])
  peers.admit(last as PassThrough).answered()
  expect(destroyed()).toEqual([false, false, true, false, false, false])
  expect(peers.count).toBe(3)
  peers.admit(beyond as PassThrough).answered()
  expect(destroyed()).toEqual([false, false, true, true, false, false])
  expect(() => peers.admit(peer())).toThrow(expect.objectContaining({ code: 'unavailable' }))
})

test('closed connections are not counted', async () => {
  const peers = createUnauthenticatedPeers({ count: 1, bytes: 100 })
  const first = peer()
  peers.admit(first).answered()
  first.destroy()
  await expect.poll(() => peers.count).toBe(0)
})

test('bytes count until the peer is accepted, in whatever pieces they arrive', async () => {
  const peers = createUnauthenticatedPeers({ count: 2, bytes: 100 })
  const [stranger, agent] = [peer(), peer()]
  peers.admit(stranger)
  peers.admit(agent).accepted()
  for (let i = 0; i < 10; i++) for (const socket of [stranger, agent]) socket.write(Buffer.alloc(10))
  await new Promise(resolve => setImmediate(resolve))
  expect(stranger.destroyed).toBe(false)
  stranger.write('x')
  agent.write('x')
  await expect.poll(() => stranger.destroyed).toBe(true)
  expect(agent.destroyed).toBe(false)
})
