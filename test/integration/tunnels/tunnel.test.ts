import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { ZERO_MASK } from '#manager/contract'
import { TunnelEnd } from '#manager/tunnel-end'
import { connectTo, readAll, startPath } from '../../fixtures/tunnel-path.ts'

const echo = (socket: Socket) => void socket.pipe(socket)
const million = randomBytes(1_000_000)
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
/** Bytes in the buffers of this process, in which all parts of a path run. */
function heldBytes(): number {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}
const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** The same rules apply to both directions of the bytes. */
const WAYS: readonly (readonly [string, { readonly direct?: true }])[] = [
  ['through manager and agent', {}],
  ['directly to the container', { direct: true }],
]

describe.each(WAYS)('%s', (_name, way) => {
  test('a client that half-closes still gets the whole answer', async () => {
    await using path = await startPath({ service: echo, ...way })
    const client = await path.connect()
    client.end(million)
    const answer = await readAll(client)
    expect(answer.length).toBe(million.length)
    expect(hash(answer)).toBe(hash(million))
    await expect.poll(() => path.outcomes).toEqual([{ reason: 'done', connected: true }])
  })

  test('a service that half-closes still gets everything the client sends afterwards', async () => {
    const got = Promise.withResolvers<Buffer>()
    await using path = await startPath({
      ...way,
      service: socket => {
        socket.end('bye')
        readAll(socket).then(got.resolve, got.reject)
      },
    })
    const client = await path.connect()
    expect((await readAll(client)).toString()).toBe('bye')
    client.end(million)
    expect(hash(await got.promise)).toBe(hash(million))
    await expect.poll(() => path.outcomes).toEqual([{ reason: 'done', connected: true }])
  })

  test('a response that is still buffered when the service closes arrives whole, however slowly it is read', async () => {
    let service: Socket | undefined
    await using path = await startPath({
      ...way,
      service: socket => {
        service = socket
        for (let i = 0; i < 8; i++) socket.write(million)
        socket.end()
        socket.resume()
      },
    })
    const client = await path.connect()
    client.pause()
    await expect.poll(() => (service?.bytesWritten ?? 0) - (service?.writableLength ?? 0)).toBeGreaterThan(100_000)
    const got: Buffer[] = []
    client.on('data', (chunk: Buffer) => {
      got.push(chunk)
      client.pause()
      setImmediate(() => client.resume())
    })
    client.resume()
    await once(client, 'end')
    expect(hash(Buffer.concat(got))).toBe(hash(Buffer.concat(Array.from({ length: 8 }, () => million))))
    client.end()
  })

  test("two clients at once do not see each other's bytes", async () => {
    await using path = await startPath({ service: echo, ...way })
    const clients = await Promise.all([path.connect(), path.connect()])
    const sent = clients.map(() => randomBytes(20_000_000))
    clients.forEach((client, i) => client.end(sent[i] ?? ''))
    const answers = await Promise.all(clients.map(readAll))
    expect(answers.map(hash)).toEqual(sent.map(hash))
  })

  test('bytes that are sent right after connecting, followed by the end, arrive', async () => {
    await using path = await startPath({ service: echo, ...way })
    const client = await connectTo(path.port)
    client.end('x')
    expect((await readAll(client)).toString()).toBe('x')
  })

  test('a stalled reader stops the writer', async () => {
    let written = 0
    const heldBefore = heldBytes()
    await using path = await startPath({
      ...way,
      service: socket => {
        const more = () => {
          while (!socket.destroyed) {
            written += million.length
            if (!socket.write(million)) break
          }
        }
        socket.on('drain', more)
        more()
      },
    })
    const client = await path.connect()
    client.pause()
    await expect.poll(() => path.outcomes.length + path.streams.size).toBe(1)
    let before = -1
    await expect
      .poll(
        async () => {
          const stood = written === before
          before = written
          await delay(300)
          return stood
        },
        { timeout: 120_000 },
      )
      .toBe(true)
    // The rest of it is in the buffers of the kernel, which are of any size.
    expect(heldBytes() - heldBefore).toBeLessThan(8_000_000)
    client.destroy()
  })

  test('a reset of the service resets the client', async () => {
    await using path = await startPath({
      ...way,
      service: socket => {
        socket.once('data', () => socket.resetAndDestroy())
      },
    })
    const client = await path.connect()
    client.write('anything')
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNRESET')
    await expect.poll(() => path.outcomes).toEqual([{ reason: 'reset', connected: true }])
  })

  test('a reset of the client resets the service', async () => {
    const failed = Promise.withResolvers<string | undefined>()
    await using path = await startPath({
      ...way,
      service: socket => {
        socket.write('hello')
        socket.on('error', (error: NodeJS.ErrnoException) => failed.resolve(error.code))
        socket.resume()
      },
    })
    const client = await path.connect()
    await once(client, 'data')
    client.resetAndDestroy()
    expect(await failed.promise).toBe('ECONNRESET')
  })

  test('200 connections that end early at any moment leave nothing behind, and the next one works', async () => {
    await using path = await startPath({ service: echo, ...way })
    await expect.poll(() => path.sockets.size).toBeGreaterThanOrEqual(4)
    for (let i = 0; i < 200; i += 20) {
      await Promise.all(
        Array.from({ length: 20 }, async (_, k) => {
          const client = await connectTo(path.port)
          const fate = (i + k) % 8
          if (fate > 1) client.write(Buffer.alloc(fate * 7000, 'z'))
          if (fate > 3) await Promise.race([once(client, 'data'), delay(5)])
          if (fate % 2 === 0) client.destroy()
          else client.resetAndDestroy()
        }),
      )
    }
    await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
    await expect.poll(() => path.streams.size).toBe(0)
    const client = await path.connect()
    client.end('still here')
    expect((await readAll(client)).toString()).toBe('still here')
    // Only parked sockets are open now; the pool grew with the burst, but has a limit.
    await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
    await expect.poll(() => path.sockets.size).toBeLessThanOrEqual(64)
  })
})

test('a refused port resets the client and tells the console the reason', async () => {
  await using path = await startPath({ service: echo })
  const wire = await path.dial('closed')
  const [frame] = (await once(wire.resume(), 'data')) as [Buffer]
  expect(frame[0]).toBe(0x88)
  expect(frame.readUInt16BE(2)).toBe(1013)
  wire.destroy()
})

/** Two ends of one TCP connection on this computer. */
async function aPair(): Promise<[Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const near = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [far] = (await once(server, 'connection')) as [Socket]
  server.close()
  return [near, far]
}

test('a client that half-closes and pauses for longer than two beats still gets the whole answer', async () => {
  const [clientWire, serverWire] = await aPair()
  const [client, clientLocal] = await aPair()
  const [service, serviceLocal] = await aPair()
  const near = new TunnelEnd({ wire: clientWire, local: clientLocal, role: 'client', newMask: () => ZERO_MASK })
  const far = new TunnelEnd({ wire: serverWire, local: serviceLocal, role: 'server' })
  const answer = randomBytes(8_000_000)
  client.pause()
  client.end('GET')
  service.resume().end(answer)
  await expect.poll(() => far.outcome.reason).toBe('done')
  for (let beats = 0; beats < 4; beats++) {
    near.beat()
    far.beat()
    await delay(50)
  }
  expect(hash(await readAll(client.resume()))).toBe(hash(answer))
})
