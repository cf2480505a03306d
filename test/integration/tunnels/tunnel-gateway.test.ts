import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { AppError, GRANT_HEADER, Problem, TUNNEL_PROTOCOL } from '#manager/contract'
import { FrameDecoder } from '#manager/tunnel-end'
import { connectTo, readAll, SESSION, startPath, STRANGER } from '../../fixtures/tunnel-path.ts'

const echo = (socket: Socket) => void socket.pipe(socket)
const STREAM = `/stream/session/${SESSION}/tcpproxy?app=echo`
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

async function refused(port: number, path: string, headers: Record<string, string>) {
  const asked = request({ port, host: '127.0.0.1', path, headers: { ...UPGRADE, ...headers } }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let body = ''
  for await (const chunk of response) body += String(chunk)
  expect(response.headers['content-type']).toBe('application/problem+json')
  return { status: response.statusCode, code: Problem.parse(JSON.parse(body)).code }
}

const grant = { [GRANT_HEADER]: `grant-${SESSION}-echo` }

test.each<[string, string, Record<string, string>, number, string]>([
  ['nothing', STREAM, {}, 401, 'not_signed_in'],
  ['a forged grant', STREAM, { [GRANT_HEADER]: 'forged' }, 401, 'grant_invalid'],
  ['the grant of another app', STREAM.replace('echo', 'closed'), grant, 401, 'grant_invalid'],
  ['a grant for another session', STREAM.replace(/001\//, '009/'), grant, 401, 'grant_invalid'],
  ['the sign-in of a stranger', STREAM, { authorization: 'Bearer stranger' }, 404, 'session_not_found'],
  ['the sign-in of a superadmin who is not the owner', STREAM, { authorization: 'Bearer admin' }, 403, 'forbidden'],
  [
    'the sign-in of a superadmin, for the terminal of somebody else',
    `/api/v1/sessions/${SESSION}/terminal`,
    { authorization: 'Bearer admin' },
    403,
    'forbidden',
  ],
  ['no sign-in, for a session that does not exist', STREAM.replace(/001\//, '009/'), {}, 401, 'not_signed_in'],
  [
    'its own sign-in, for an app that does not exist',
    STREAM.replace('echo', 'nope'),
    { authorization: 'Bearer owner' },
    404,
    'app_not_found',
  ],
  ['no app at all', STREAM.replace('echo', ''), grant, 404, 'app_not_found'],
  ['a host in place of a session', STREAM.replace(SESSION, '10.0.0.1:22'), grant, 404, 'session_not_found'],
  ['plain HTTP', STREAM, { ...grant, upgrade: 'h2c' }, 400, 'bad_request'],
])('a client with %s is refused with a problem document', async (_name, path, headers, status, code) => {
  await using opened = await startPath({ service: echo })
  expect(await refused(opened.managerPort, path, headers)).toEqual({ status, code })
})

test('a session that is not running, or whose agent is away, is refused with its own code', async () => {
  await using pending = await startPath({ service: echo, location: { status: 'PENDING', agentId: null } })
  expect(await refused(pending.managerPort, STREAM, grant)).toEqual({ status: 409, code: 'session_not_running' })
  await using away = await startPath({ service: echo, connected: () => false })
  expect(await refused(away.managerPort, STREAM, grant)).toEqual({ status: 503, code: 'agent_unreachable' })
  await using mute = await startPath({ service: echo, parked: 0, takeTimeoutMs: 100 })
  expect(await refused(mute.managerPort, STREAM, grant)).toEqual({ status: 503, code: 'agent_unreachable' })
})

test('the dialler throws the code of the refusal', async () => {
  await using path = await startPath({ service: echo })
  const error: unknown = await path.dial('echo', 'forged').catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(AppError)
  expect((error as AppError).code).toBe('grant_invalid')
})

test('a client of Backend.AI, without subprotocol, exchanges raw bytes and sees the end as 1001', async () => {
  await using path = await startPath({
    service: socket => {
      socket.once('data', chunk => socket.end(chunk))
    },
  })
  const url = `ws://127.0.0.1:${path.managerPort}${STREAM.replace('tcpproxy', 'httpproxy')}`
  const socket = new WebSocket(url, { headers: { authorization: 'Bearer owner' } })
  const heard: string[] = []
  socket.on('message', (data: Buffer, isBinary) => heard.push(`${isBinary ? 'binary' : 'text'} ${data.toString()}`))
  await once(socket, 'open')
  socket.send('hello')
  const [code] = (await once(socket, 'close')) as [number]
  expect(heard).toEqual(['binary hello'])
  expect(code).toBe(1001)
})

test('a client that offers other subprotocols gets none of them', async () => {
  await using path = await startPath({ service: echo })
  const headers = { ...UPGRADE, ...grant, 'sec-websocket-protocol': 'binary, base64' }
  const asked = request({ port: path.managerPort, host: '127.0.0.1', path: STREAM, headers }).end()
  const [response, socket] = (await once(asked, 'upgrade')) as [IncomingMessage, Socket]
  expect(response.headers).not.toHaveProperty('sec-websocket-protocol')
  socket.destroy()
})

test('the ws library speaks berth.tunnel.v1 with the agent: ok, bytes, eof both ways, close 1000', async () => {
  await using path = await startPath({ service: echo })
  const socket = new WebSocket(`ws://127.0.0.1:${path.managerPort}${STREAM}`, [TUNNEL_PROTOCOL], { headers: grant })
  const heard: string[] = []
  socket.on('message', (data: Buffer, isBinary) => heard.push(`${isBinary ? 'binary' : 'text'} ${data.toString()}`))
  await once(socket, 'open')
  expect(socket.protocol).toBe(TUNNEL_PROTOCOL)
  socket.send(Buffer.from('over'))
  await expect.poll(() => heard).toEqual(['text ok', 'binary over'])
  socket.send('eof')
  const [code] = (await once(socket, 'close')) as [number]
  expect(heard).toEqual(['text ok', 'binary over', 'text eof'])
  expect(code).toBe(1000)
})

test('a client that destroys its socket ends the service', async () => {
  const closed = Promise.withResolvers<undefined>()
  await using path = await startPath({
    service: socket => {
      socket.write('hello')
      socket.resume().on('close', () => closed.resolve(undefined))
    },
  })
  const socket = new WebSocket(`ws://127.0.0.1:${path.managerPort}${STREAM}`, [TUNNEL_PROTOCOL], { headers: grant })
  await once(socket, 'message')
  socket.terminate()
  await closed.promise
})

test.each([
  ['garbage', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 1002],
  ['a frame above 16 MiB', Buffer.from('82ff000000000100000100000000', 'hex'), 1009],
  ['bytes after eof', Buffer.from('818300000000656f6682810000000041', 'hex'), 1002],
  ['a text of its own', Buffer.from('818300000000616263', 'hex'), 1002],
])('%s from a client gets the close code of its fault', async (_name, bytes, code) => {
  await using path = await startPath({ service: echo })
  const wire = await path.dial()
  wire.write(bytes)
  const closes: number[] = []
  const nothing = () => undefined
  const sink = { data: nothing, ping: nothing, pong: nothing, close: (given: number) => void closes.push(given) }
  const decoder = new FrameDecoder({ role: 'client', sink })
  for await (const chunk of wire) decoder.push(chunk as Buffer)
  expect(closes).toEqual([code])
})

test('frames in the packet of the upgrade request reach the service', async () => {
  await using path = await startPath({ service: echo })
  const socket = await connectTo(path.managerPort)
  const head = Object.entries({ host: 'x', ...UPGRADE, ...grant, 'sec-websocket-protocol': TUNNEL_PROTOCOL })
  const lines = head.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const frames = Buffer.from('8285000000006561726c79' + '818300000000656f66', 'hex')
  socket.write(Buffer.concat([Buffer.from(`GET ${STREAM} HTTP/1.1\r\n${lines}\r\n`), frames]))
  let said = ''
  socket.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')))
  await expect.poll(() => said).toContain('early')
  expect(said).toContain('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
  socket.destroy()
})

test('a client that leaves while it waits for the agent leaves nothing behind', async () => {
  await using path = await startPath({ service: echo, parked: 0, takeTimeoutMs: 60_000 })
  const client = await path.connect()
  await expect.poll(() => path.sockets.size).toBe(2)
  client.destroy()
  const direct = request({ port: path.managerPort, host: '127.0.0.1', path: STREAM, headers: { ...UPGRADE, ...grant } })
  direct.on('error', () => undefined).end()
  await expect.poll(() => path.sockets.size).toBe(3)
  direct.destroy()
  // The proxy has not read from its client yet; its own dial ends when the agent comes.
  await expect.poll(() => path.sockets.size).toBe(2)
  await using _agent = path.startAgent()
  await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
  await expect.poll(() => path.streams.size).toBe(0)
})

test("a dead parked socket is skipped, and the client's data goes to the next one", async () => {
  await using path = await startPath({ service: echo, parked: 0, takeTimeoutMs: 60_000 })
  // Parks like an agent, then dies without answering a header, like a host that lost its power.
  const dead = await connectTo(path.managerPort)
  dead.write(
    'GET /agent/v1/data HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: berth-data\r\nAuthorization: Bearer data-token\r\n\r\n',
  )
  await once(dead, 'data')
  const client = await path.connect()
  client.end('important')
  await once(dead, 'data')
  dead.resetAndDestroy()
  await using _agent = path.startAgent()
  expect((await readAll(client)).toString()).toBe('important')
})

describe('places of a person', () => {
  const limits = { tunnels: 3, ofApp: 3, terminals: 1, visitors: 2, all: 100 }
  const full = { status: 429, code: 'rate_limited' }
  const owner = { authorization: 'Bearer owner' }
  const TERMINAL = `/api/v1/sessions/${SESSION}/terminal`

  /** Sends an upgrade without waiting for it. */
  async function ask(port: number, path: string, headers: Record<string, string>) {
    const socket = await connectTo(port)
    const lines = Object.entries({ host: 'x', ...UPGRADE, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.on('error', () => undefined).resume()
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    return socket
  }
  const open = async (port: number, path: string, headers: Record<string, string>) => {
    const socket = await ask(port, path, headers)
    await once(socket, 'data')
    return socket
  }

  test('are bounded, whatever the credential; terminals and visitors of links have their own', async () => {
    let isPublic = false
    await using path = await startPath({ service: echo, limits, isPublic: () => isPublic })
    const { managerPort: port, gateway } = path
    const first = await open(port, STREAM, grant)
    await open(port, STREAM, owner)
    await open(port, STREAM, owner)
    expect(await refused(port, STREAM, owner)).toEqual(full)
    expect(await refused(port, STREAM, grant)).toEqual(full)
    expect(gateway.counts().tunnels).toBe(3)

    isPublic = true
    await open(port, STREAM, grant)
    await open(port, STREAM, grant)
    expect(await refused(port, STREAM, grant)).toEqual(full)
    await open(port, TERMINAL, owner)
    expect(await refused(port, TERMINAL, owner)).toEqual(full)

    // A tunnel stops counting when its client closes it, and when all are cut.
    isPublic = false
    first.destroy()
    await expect.poll(() => gateway.counts().tunnels).toBe(5)
    await open(port, STREAM, grant)
    gateway.closeSession(SESSION)
    await expect.poll(() => gateway.counts().tunnels).toBe(0)
    for (let n = 0; n < 3; n++) await open(port, STREAM, grant)
  })

  test('to one app leave some to the other apps and ports', async () => {
    await using path = await startPath({ service: echo, limits: { ...limits, ofApp: 2 } })
    const { managerPort: port, gateway } = path
    const first = await open(port, STREAM, owner)
    await open(port, STREAM, grant)
    expect(await refused(port, STREAM, owner)).toEqual(full)
    // The refused connection did not count.
    await open(port, STREAM.replace('=echo', '=tcp-5432'), owner)
    expect(await refused(port, STREAM.replace('=echo', '=tcp-5433'), owner)).toEqual(full)
    first.destroy()
    await expect.poll(() => gateway.counts().tunnels).toBe(2)
    await open(port, STREAM, owner)
  })

  test('of another person are free', async () => {
    const shares = () => ({ shares: { [STRANGER]: 'use' as const } })
    await using path = await startPath({ service: echo, limits, shares })
    const { managerPort: port } = path
    for (let n = 0; n < 3; n++) await open(port, STREAM, { authorization: 'Bearer stranger' })
    expect(await refused(port, STREAM, { authorization: 'Bearer stranger' })).toEqual(full)
    await open(port, STREAM, owner)
  })

  test('are at most as many as are free of the places of everybody', async () => {
    const shares = () => ({ shares: { [STRANGER]: 'use' as const } })
    await using path = await startPath({ service: echo, limits: { ...limits, all: 4 }, shares })
    const { managerPort: port, gateway } = path
    const first = await open(port, STREAM, owner)
    await open(port, STREAM, owner)
    expect(await refused(port, STREAM, owner)).toEqual(full)
    await open(port, STREAM, { authorization: 'Bearer stranger' })
    first.destroy()
    await expect.poll(() => gateway.counts().tunnels).toBe(2)
    await open(port, STREAM, owner)
  })

  test('are taken while a tunnel waits for its agent, and given back when the client leaves', async () => {
    await using path = await startPath({ service: echo, limits, parked: 0, takeTimeoutMs: 600_000 })
    const { managerPort: port, sockets } = path
    const waiting = await Promise.all([1, 2, 3].map(() => ask(port, STREAM, grant)))
    await expect.poll(() => sockets.size).toBe(3)
    expect(await refused(port, STREAM, grant)).toEqual(full)
    waiting[0]?.destroy()
    await expect.poll(() => sockets.size).toBe(2)
    await ask(port, STREAM, grant)
    await expect.poll(() => sockets.size).toBe(3)
  })

  test('are given back when the agent does not come', async () => {
    await using path = await startPath({ service: echo, limits, parked: 0, takeTimeoutMs: 100 })
    const { managerPort: port, sockets } = path
    const answers = await Promise.all([1, 2, 3].map(() => refused(port, STREAM, grant)))
    expect(answers.map(({ code }) => code)).toEqual(answers.map(() => 'agent_unreachable'))
    await expect.poll(() => sockets.size).toBe(0)
    await using _agent = path.startAgent()
    for (let n = 0; n < 3; n++) await open(port, STREAM, grant)
  })
})

test('an agent with a wrong token cannot park sockets', async () => {
  await using path = await startPath({ service: echo, parked: 0 })
  const headers = { connection: 'Upgrade', upgrade: 'berth-data', authorization: 'Bearer wrong' }
  expect((await refused(path.managerPort, '/agent/v1/data', headers)).status).toBe(401)
})

test('the end of a session or of a sign-in resets its tunnels and no others', async () => {
  await using path = await startPath({ service: echo })
  const client = await path.connect()
  client.write('x')
  await once(client, 'data')
  path.gateway.closeLogin('another')
  path.gateway.closeSession('another')
  client.write('y')
  await once(client, 'data')
  const { bytesUp, tunnels } = path.gateway.activity(SESSION)
  expect(tunnels).toBe(1)
  expect(bytesUp).toBeGreaterThan(2)
  path.gateway.closeLogin('login-1')
  const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('ECONNRESET')
  await expect.poll(() => path.gateway.counts().tunnels).toBe(0)
  expect(path.gateway.activity(SESSION).bytesUp).toBeGreaterThanOrEqual(bytesUp)
})

test('a sign-in that is revoked while its client waits for the agent opens nothing', async () => {
  let holds = true
  await using path = await startPath({ service: echo, parked: 0, grantsHold: () => holds })
  const dialled = path.dial().catch((reason: unknown) => reason)
  await expect.poll(path.asked).toBe(1)
  holds = false
  path.gateway.closeLogin('login-1')
  await using _agent = path.startAgent()
  expect(await dialled).toMatchObject({ code: 'grant_invalid' })
  expect(path.gateway.counts().tunnels).toBe(0)
})

describe('a client with a sign-in instead of a grant that waits for the agent', () => {
  const dial = (port: number) => {
    const headers = { authorization: 'Bearer owner' }
    return new WebSocket(`ws://127.0.0.1:${port}${STREAM}`, [TUNNEL_PROTOCOL], { headers })
  }

  test('the client connects if something else ended meanwhile: its request is authenticated once', async () => {
    await using path = await startPath({ service: echo, parked: 0 })
    const socket = dial(path.managerPort)
    const opened = once(socket, 'open')
    await expect.poll(path.asked).toBe(1)
    path.gateway.closeLogin('somebody else')
    await using _agent = path.startAgent()
    await opened
    socket.terminate()
  })

  test('the client is refused if its sign-in or keypair ended meanwhile', async () => {
    let holds = true
    await using path = await startPath({ service: echo, parked: 0, areCredentialsValid: () => holds })
    const refused = once(dial(path.managerPort), 'error')
    await expect.poll(path.asked).toBe(1)
    holds = false
    path.gateway.closeLogin('login-2')
    await using _agent = path.startAgent()
    expect(await refused).toMatchObject([{ message: expect.stringContaining('401') as string }])
    expect(path.gateway.counts().tunnels).toBe(0)
  })
})
