import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { hangUp } from './hang-up.ts'

/** Whether the kernel still has a connection with this local port, which nobody else can use meanwhile. */
function isHeld(port: number): boolean {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .some(line => line.trim().split(/\s+/)[1] === local)
}

/** A connection on which the server sends a last message and hangs up. @param closes whether its peer ends its side */
async function meet(closes: boolean) {
  const server = createServer(socket => hangUp(socket, 'bye', 50)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const peer = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: !closes })
  const [text] = (await once(peer.setEncoding('utf8'), 'data')) as [string]
  const port = peer.localPort ?? 0
  return {
    text,
    peer,
    port,
    [Symbol.dispose]() {
      peer.destroy()
      server.close()
    },
  }
}

test('a peer that ends its side gets the last word, and a clean end', async () => {
  using met = await meet(true)
  expect(met.text).toBe('bye')
  const [hadError] = (await once(met.peer, 'close')) as [boolean]
  expect(hadError).toBe(false)
})

test('a peer that keeps its side open gets the last word, and loses its port', async () => {
  using met = await meet(false)
  expect(met.text).toBe('bye')
  expect(isHeld(met.port)).toBe(true)
  await expect.poll(() => isHeld(met.port)).toBe(false)
})
