import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { readAll, SESSION, startPath } from '../../fixtures/tunnel-path.ts'

type Path = Awaited<ReturnType<typeof startPath>>

const echo = (socket: Socket) => void socket.pipe(socket)
const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

async function exchange(path: Path, bytes: Buffer | string): Promise<string> {
  const client = await path.connect()
  client.end(bytes)
  return hash(await readAll(client))
}

/** The same rules apply to both directions of the bytes. */
const WAYS: readonly (readonly [string, { readonly lasting: true; readonly direct?: true }])[] = [
  ['through manager and agent', { lasting: true }],
  ['directly to the container', { lasting: true, direct: true }],
]

describe.each(WAYS)('%s', (_name, way) => {
  test('connections in a row use one wire, each with a connection of its own to the service', async () => {
    let services = 0
    const service = (socket: Socket) => {
      services++
      echo(socket)
    }
    await using path = await startPath({ service, ...way })
    for (const size of [0, 1, 5_000, 300_000, 3]) {
      const bytes = randomBytes(size)
      expect(await exchange(path, bytes)).toBe(hash(bytes))
      await expect.poll(() => path.outcomes.length).toBe(services)
      expect(path.gateway.counts().tunnels).toBe(1)
    }
    expect(services).toBe(5)
    expect(path.outcomes).toEqual(Array.from({ length: 5 }, () => ({ reason: 'done', connected: true })))
    expect(path.dials()).toBe(1)
  })

  test('a service that speaks first is heard on every connection, also if it ends first', async () => {
    let services = 0
    await using path = await startPath({ service: socket => void socket.end(`banner ${++services}`), ...way })
    for (let i = 1; i <= 3; i++) {
      const client = await path.connect()
      expect((await readAll(client)).toString()).toBe(`banner ${i}`)
      client.end()
      await expect.poll(() => path.outcomes.length).toBe(i)
    }
    expect(path.dials()).toBe(1)
  })

  test('while a slow client still reads, the next client gets a wire of its own, and both get every byte', async () => {
    const answer = randomBytes(8_000_000)
    const services: Socket[] = []
    const service = (socket: Socket) => {
      services.push(socket)
      // In pieces: a single write would count as moved only when all of it has been taken, and the buffers of some kernels do not take it.
      const pieces = Array.from({ length: 125 }, (_, at) => answer.subarray(at * 64_000, (at + 1) * 64_000))
      Readable.from(pieces).pipe(socket.resume())
    }
    const moved = () => services.reduce((sum, socket) => sum + socket.bytesWritten - socket.writableLength, 0)
    await using path = await startPath({ service, ...way })
    const slow = await path.connect()
    slow.pause()
    slow.end()
    await expect.poll(moved).toBeGreaterThan(100_000)
    expect(await exchange(path, '')).toBe(hash(answer))
    expect(hash(await readAll(slow))).toBe(hash(answer))
    expect(path.dials()).toBe(2)
    // Both wires are idle now.
    await expect.poll(() => path.outcomes.length).toBe(2)
    expect(await exchange(path, '')).toBe(hash(answer))
    expect(path.dials()).toBe(2)
  })

  test('a wire that was cut while it rested is replaced unnoticed', async () => {
    await using path = await startPath({ service: echo, ...way })
    await exchange(path, 'one')
    path.gateway.closeSession(SESSION)
    expect(await exchange(path, 'two')).toBe(hash(Buffer.from('two')))
    expect(path.dials()).toBe(2)
  })

  test('the end of a sign-in cuts resting wires', async () => {
    let holds = true
    await using path = await startPath({ service: echo, ...way, grantsHold: () => holds })
    await exchange(path, 'one')
    holds = false
    path.gateway.closeLogin('login-1')
    const client = await path.connect()
    await once(client, 'error')
    expect(path.errors).toMatchObject([{ code: 'grant_invalid' }])
    await expect.poll(() => path.streams.size).toBe(0)
  })

  test('clients that leave before they get an answer leave nothing behind', async () => {
    await using path = await startPath({ service: echo, ...way })
    await exchange(path, 'one')
    for (let i = 0; i < 50; i++) {
      const client = await path.connect()
      if (i % 2 === 0) client.resetAndDestroy()
      else {
        client.end()
        setImmediate(() => client.destroy())
      }
    }
    expect(await exchange(path, 'two')).toBe(hash(Buffer.from('two')))
  })
})

test('a reset reaches the service, and its wire is not used again', async () => {
  const closed: boolean[] = []
  await using path = await startPath({
    service: socket => {
      echo(socket)
      socket.on('close', hadError => closed.push(hadError))
    },
    lasting: true,
  })
  await exchange(path, 'one')
  const client = await path.connect()
  client.write('two')
  await once(client, 'data')
  client.resetAndDestroy()
  await expect.poll(() => closed.length).toBe(2)
  await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
  expect(await exchange(path, 'three')).toBe(hash(Buffer.from('three')))
})

test('with an agent of an earlier version every connection has a wire of its own', async () => {
  await using path = await startPath({ service: echo, lasting: 'old agent' })
  for (const word of ['one', 'two', 'three']) {
    expect(await exchange(path, word)).toBe(hash(Buffer.from(word)))
    await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
  }
  expect(path.dials()).toBe(3)
  expect(path.outcomes).toEqual(Array.from({ length: 3 }, () => ({ reason: 'done', connected: true })))
})
