import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { relay } from './relay.ts'

/** @returns an agent's end of a connection, and the manager's */
async function parked(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const { port } = server.address() as { port: number }
  const agent = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [manager] = await accepted
  server.close()
  for (const socket of [agent, manager]) socket.on('error', () => undefined)
  onTestFinished(() => [agent, manager].forEach(socket => socket.destroy()))
  return [agent, manager]
}

/** Resolves when the socket is closed, also by a reset, which `once` takes for a failure. */
const closeOf = (socket: Socket) => new Promise<void>(resolve => socket.resume().once('close', () => resolve()))

async function joined() {
  const [[giver, fromGiver], [taker, fromTaker]] = [await parked(), await parked()]
  const ended = new AbortController()
  const headers = { giver: { kind: 'give_image' }, taker: { kind: 'take_image' } }
  const bytes = relay(fromGiver, fromTaker, { headers, signal: ended.signal })
  bytes.catch(() => undefined)
  const [[first], [second]] = (await Promise.all([once(giver, 'data'), once(taker, 'data')])) as [[Buffer], [Buffer]]
  expect([first.toString(), second.toString()]).toEqual(['{"kind":"give_image"}\n', '{"kind":"take_image"}\n'])
  return { giver, taker, fromGiver, bytes, ended }
}

test('bytes go both ways, and those of the giver are counted', async () => {
  const { giver, taker, bytes } = await joined()
  taker.write('have')
  expect(String(((await once(giver, 'data')) as [Buffer])[0])).toBe('have')
  const sent = randomBytes(500_000)
  const arrived = buffer(taker)
  giver.end(sent)
  expect((await arrived).equals(sent)).toBe(true)
  taker.end()
  expect(await bytes).toBe(sent.length)
})

test('a taker that reads nothing stops the giver: the manager keeps little', async () => {
  const { giver, taker, fromGiver, ended } = await joined()
  taker.pause()
  const all = 64 * 2 ** 20
  giver.write(Buffer.alloc(all))
  // Buffers of the kernel and of streams are full: what the manager has read does not grow any more.
  let before = -1
  await expect
    .poll(
      () => {
        const grown = fromGiver.bytesRead - before
        before = fromGiver.bytesRead
        return grown
      },
      { interval: 100 },
    )
    .toBe(0)
  expect(fromGiver.bytesRead).toBeLessThan(all / 2)
  ended.abort(new Error('enough'))
})

test.each(['giver', 'taker'] as const)('when the %s is gone, the other end is cut', async who => {
  const { giver, taker, bytes } = await joined()
  const [lost, other] = who === 'giver' ? [giver, taker] : [taker, giver]
  const closed = closeOf(other)
  lost.resetAndDestroy()
  await closed
  await bytes
})

test('a taker that is done ends a giver that is waiting', async () => {
  const { giver, taker, bytes } = await joined()
  const closed = closeOf(giver)
  taker.end()
  await closed
  await bytes
})

test('when the transfer is cancelled, both are cut', async () => {
  const { giver, taker, bytes, ended } = await joined()
  const closed = Promise.all([giver, taker].map(closeOf))
  ended.abort(new Error('cancelled'))
  await closed
  await expect(bytes).rejects.toThrow('cancelled')
})
