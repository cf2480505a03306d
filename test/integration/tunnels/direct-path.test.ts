import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect, createServer, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { DIRECT_HEADER, type Grant, GRANT_HEADER } from '#manager/contract'
import { dialTunnel } from '../../../proxy/dial/dial.ts'
import { createTransport } from '../../../proxy/local/transport.ts'
import { takeOffer } from '../../../proxy/dial/first-text.ts'
import { connectTo, KERNEL, readAll, SESSION, startPath } from '../../fixtures/tunnel-path.ts'

type Path = Awaited<ReturnType<typeof startPath>>

const echo = (socket: Socket) => void socket.pipe(socket)

async function exchange(path: Path, words: string): Promise<string> {
  const client = await path.connect()
  client.end(words)
  return (await readAll(client)).toString()
}

/** A connection of a client that has received its first bytes. */
async function inUse(path: Path): Promise<Socket> {
  const client = await path.connect()
  client.write('hello')
  await once(client, 'data')
  return client
}

async function errorOf(socket: Socket): Promise<string | undefined> {
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  return error.code
}

test('the bytes go past manager and agent, on a wire that the manager counts', async () => {
  await using path = await startPath({ service: echo, direct: true })
  const client = await path.connect()
  client.write(randomBytes(1_000_000))
  let got = 0
  client.on('data', (chunk: Buffer) => (got += chunk.length))
  await expect.poll(() => got).toBe(1_000_000)
  expect(path.gateway.counts().tunnels).toBe(1)
  expect(path.gateway.activity(SESSION).bytesUp).toBeLessThan(10_000)
  client.end()
  await expect.poll(() => path.outcomes).toEqual([{ reason: 'done', connected: true }])
  await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
})

test('the manager hears of bytes that have moved, in its own measure, and of nothing while nothing moves', async () => {
  await using path = await startPath({ service: echo, direct: true, lasting: true })
  const client = await inUse(path)
  const note = () => {
    for (const { directWire } of path.directLines) directWire.note()
  }
  const counted = async () => {
    note()
    await delay(50)
    return path.gateway.activity(SESSION).bytesUp
  }
  const before = await counted()
  client.write(Buffer.alloc(20_000))
  let got = 0
  client.on('data', (chunk: Buffer) => (got += chunk.length))
  await expect.poll(() => got).toBe(20_000)
  const busy = await counted()
  expect(busy - before).toBeGreaterThanOrEqual(40_000)
  expect(await counted()).toBe(busy)
  client.end()
  await expect.poll(() => path.outcomes.length).toBe(1)
  expect(await counted()).toBe(busy)
})

describe.each<[string, Parameters<typeof startPath>[0]['direct']]>([
  ['an agent with another key', 'another key'],
  ['an agent of an earlier version', 'old agent'],
  ['a manager of an earlier version', 'old manager'],
])('with %s', (_name, direct) => {
  test('the bytes go through manager and agent', async () => {
    await using path = await startPath({ service: echo, direct, lasting: true })
    expect(await exchange(path, 'one')).toBe('one')
    expect(await exchange(path, 'two')).toBe('two')
    expect(path.directLines).toEqual([])
    expect(path.errors).toEqual([])
    // The direct path is not requested again.
    expect(path.directPath?.ask(SESSION, 'echo')).toBeUndefined()
  })
})

test('an app that does not listen yet is left to the agent, who starts it; the next connection is direct', async () => {
  await using path = await startPath({ service: echo, direct: true, startedByAgent: true })
  expect(await exchange(path, 'one')).toBe('one')
  expect(path.directLines).toEqual([])
  expect(await exchange(path, 'two')).toBe('two')
  expect(path.directLines).toHaveLength(1)
})

describe.each<[string, (path: Path) => void]>([
  ['the session has ended', path => path.gateway.closeSession(SESSION)],
  ['the sign-in has ended', path => path.gateway.closeLogin('login-1')],
  ['the agent leaves', path => void path.streams[Symbol.asyncDispose]()],
  ['the kernel has ended', path => void path.streams.release(KERNEL)],
])('when %s', (_name, cut) => {
  test('a connection in the middle of a transfer is reset at once, on both sides', async () => {
    const services: Promise<string | undefined>[] = []
    const service = (socket: Socket) => {
      services.push(errorOf(socket))
      echo(socket)
    }
    await using path = await startPath({ service, direct: true, lasting: true })
    const client = await inUse(path)
    const failed = errorOf(client)
    cut(path)
    expect(await failed).toBe('ECONNRESET')
    expect(await Promise.all(services)).toEqual(['ECONNRESET'])
    await expect.poll(() => path.streams.size).toBe(0)
  })
})

test('an answer of a web app that is cut in the middle is not taken for a whole one; its wire ends with the connection', async () => {
  const service = (socket: Socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\nthe first part'))
  }
  await using path = await startPath({ service, direct: true })
  const transport = createTransport(path.managerUrl, path.directPath)
  const app = { name: 'echo', title: 'Echo', protocol: 'http', path: '/' } as const
  const grant = { grant: `grant-${SESSION}-echo`, sessionId: SESSION, app } as Grant
  const open = async () => transport.stream(await transport.dial(grant, AbortSignal.timeout(10_000)))

  const stream = await open()
  expect(stream).toBeInstanceOf(Socket)
  const asked = request({ host: 'app', createConnection: () => stream }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  await once(answer, 'data')
  path.gateway.closeSession(SESSION)
  await expect(once(answer, 'end')).rejects.toThrow('aborted')

  const idle = await open()
  await expect.poll(() => path.gateway.counts().tunnels).toBe(1)
  idle.destroy()
  await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
})

test('the agent sees every direct connection of a kernel ended before its address may belong to another one', async () => {
  const open = new Set<Socket>()
  const service = (socket: Socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    echo(socket)
  }
  await using path = await startPath({ service, direct: true, lasting: true })
  await exchange(path, 'rests')
  await Promise.all([inUse(path), inUse(path)])
  await path.streams.release(KERNEL)
  await expect.poll(() => open.size).toBe(0)
  expect(path.streams.size).toBe(0)
  const connected = path.directLines.length
  // The container may still be listed for a moment; it gets no direct connection any more.
  expect(await exchange(path, 'next')).toBe('next')
  expect(path.directLines.length).toBe(connected)
})

/** Another container gets the address: a service that counts its connections, and the bytes that it receives. */
async function aStranger(path: Path) {
  await new Promise(done => path.container.close(done))
  const met = { connections: 0, bytes: 0 }
  const server = createServer(socket => {
    met.connections++
    socket.on('error', () => undefined)
    socket.on('data', (chunk: Buffer) => (met.bytes += chunk.length))
    socket.write('a banner of somebody else')
  }).listen(path.servicePort, '127.0.0.1')
  await once(server, 'listening')
  return { met, [Symbol.dispose]: () => void server.close() }
}

test('a container that gets the address of an ended one is never connected to', async () => {
  let runs = true
  await using path = await startPath({ service: echo, direct: true, lasting: true, runs: () => runs })
  await exchange(path, 'a wire that rests')
  expect(path.directLines).toHaveLength(1)
  await path.streams.release(KERNEL)
  runs = false
  using stranger = await aStranger(path)
  const client = await path.connect()
  client.write('a secret')
  await once(client, 'error')
  expect(stranger.met).toEqual({ connections: 0, bytes: 0 })
})

test('a proxy that stood still meanwhile sends that container nothing either, and passes nothing on', async () => {
  let runs = true
  await using path = await startPath({ service: echo, direct: true, lasting: true, runs: () => runs })
  const grant = `grant-${SESSION}-echo`
  const program = new URL('../../bench/tunnel-proxy.ts', import.meta.url)
  const proxy = fork(program, [path.managerUrl, SESSION, grant, 'echo', 'the key of this berth up'], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  using _ = { [Symbol.dispose]: () => void proxy.kill('SIGKILL') }
  const [{ port }] = (await once(proxy, 'message')) as [{ port: number }]
  const first = await connectTo(port)
  first.end('one')
  expect((await readAll(first)).toString()).toBe('one')
  await expect.poll(() => path.streams.size).toBe(1)
  expect(path.gateway.activity(SESSION).bytesDown).toBeLessThan(200)

  process.kill(proxy.pid ?? 0, 'SIGSTOP')
  const client = await connectTo(port)
  client.write('a secret')
  let heard = 0
  client.on('data', (chunk: Buffer) => (heard += chunk.length))
  const over = new Promise(done => client.once('close', done))
  await path.streams.release(KERNEL)
  runs = false
  using stranger = await aStranger(path)
  process.kill(proxy.pid ?? 0, 'SIGCONT')
  await over
  expect({ ...stranger.met, heard }).toMatchObject({ bytes: 0, heard: 0 })
})

test('a proxy that does not react is cut after a few seconds', async () => {
  await using path = await startPath({ service: echo, direct: true })
  const nonce = 'a'.repeat(22)
  const wire = await dialTunnel({
    managerUrl: path.managerUrl,
    sessionId: SESSION,
    app: 'echo',
    headers: { [GRANT_HEADER]: `grant-${SESSION}-echo`, [DIRECT_HEADER]: nonce },
  })
  expect(await takeOffer(wire, { waitMs: 60_000 })).toMatchObject({
    kind: 'offer',
    text: expect.stringMatching(/^direct 127\.0\.0\.1 \d+ [\w-]{43}$/) as string,
  })
  wire.on('error', () => undefined)
  const begin = performance.now()
  await path.streams.release(KERNEL)
  expect(performance.now() - begin).toBeLessThan(15_000)
  await expect.poll(() => path.streams.size).toBe(0)
})

test('an offer is worth nothing for another question', async () => {
  await using path = await startPath({ service: echo, direct: true })
  const asked = path.directPath?.ask(SESSION, 'echo')
  if (!asked) throw new Error('the direct path is not asked for')
  const offerTo = async (nonce: string) => {
    const wire = await dialTunnel({
      managerUrl: path.managerUrl,
      sessionId: SESSION,
      app: 'echo',
      headers: { [GRANT_HEADER]: `grant-${SESSION}-echo`, [DIRECT_HEADER]: nonce },
    })
    const first = await takeOffer(wire, { waitMs: 60_000 })
    wire.on('error', () => undefined).destroy()
    return first.kind === 'offer' ? first.text : ''
  }
  const offer = await offerTo(asked.nonce)
  expect(asked.addressIn(offer)).toMatchObject({ host: '127.0.0.1' })
  // Replayed for the next wire; for another app; for another session; with another address.
  expect(path.directPath?.ask(SESSION, 'echo')?.addressIn(offer)).toBeUndefined()
  expect(path.directPath?.ask(SESSION, 'closed')?.addressIn(offer)).toBeUndefined()
  expect(path.directPath?.ask(`${SESSION.slice(0, -1)}9`, 'echo')?.addressIn(offer)).toBeUndefined()
  expect(asked.addressIn(offer.replace('127.0.0.1', '127.0.0.2'))).toBeUndefined()
  expect(asked.addressIn(offer.replace(/ \d+ /, ' 22 '))).toBeUndefined()
})

describe('the first frame of a wire', () => {
  async function aPair(): Promise<[Socket, Socket]> {
    const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const near = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, allowHalfOpen: true })
    const [far] = (await once(server, 'connection')) as [Socket]
    server.close()
    near.on('error', () => undefined)
    far.on('error', () => undefined)
    return [near, far]
  }
  const text = (words: string) => Buffer.from(`\x81${String.fromCharCode(words.length)}${words}`, 'latin1')

  test('is taken if it is an offer, in pieces too, and what follows stays', async () => {
    const [wire, agent] = await aPair()
    const offer = takeOffer(wire, { waitMs: 60_000 })
    for (const byte of text('direct x')) {
      agent.write(Buffer.from([byte]))
      await delay(2)
    }
    agent.write('rest')
    expect(await offer).toEqual({ kind: 'offer', text: 'direct x' })
    agent.end()
    expect((await readAll(wire)).toString()).toBe('rest')
  })

  test.each([
    ['another text', text('ok next')],
    ['a close frame', Buffer.from([0x88, 2, 3, 245])],
    ['a ping', Buffer.from([0x89, 0])],
    ['a frame that is too long for an offer', Buffer.from([0x81, 126, 0, 200])],
  ])('stays in the wire if it is %s', async (_name, frame) => {
    const [wire, agent] = await aPair()
    agent.end(Buffer.concat([frame, Buffer.from('and more')]))
    expect(await takeOffer(wire, { waitMs: 60_000 })).toEqual({ kind: 'other' })
    expect((await readAll(wire)).toString('latin1')).toBe(`${frame.toString('latin1')}and more`)
  })

  test('is not waited for without end', async () => {
    const [wire, agent] = await aPair()
    expect(await takeOffer(wire, { waitMs: 20 })).toEqual({ kind: 'silent' })
    await expect(takeOffer(wire, { waitMs: 60_000, signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow(
      'gone',
    )
    agent.destroy()
    await expect(takeOffer(wire, { waitMs: 60_000 })).rejects.toMatchObject({ code: 'unavailable' })
  })
})
