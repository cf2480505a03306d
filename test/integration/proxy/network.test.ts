import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import { type AddressInfo } from 'node:net'
import { rootCertificates, setDefaultCACertificates } from 'node:tls'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { isAppError, SessionId, TUNNEL_PROTOCOL } from '#manager/contract'
import { dialTunnel } from '../../../proxy/dial/dial.ts'
import { openOwnCertificate } from '../../../proxy/web/tls/own-certificate.ts'
import { createNetwork, type Network, parsePacAnswer } from '../../../proxy/network/index.ts'
import { type Authority, createAuthority } from '../../fixtures/authority.ts'
import { createCli, loginCommand, outcomeOf } from '../../fixtures/cli.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { type ConnectProxy, startConnectProxy } from '../../fixtures/connect-proxy.ts'
import { type SocksProxy, startSocksProxy } from '../../fixtures/socks-proxy.ts'

/** A server that only a company's proxy can reach: nobody else can resolve its name. */
const SERVER = 'https://localhost.company.example'
const SESSION = SessionId.parse('01900000-0000-7000-8000-000000000001')

let authority: Authority
let server: Server
let sockets: WebSocketServer
let proxy: ConnectProxy
let received: { path: string; body: string }[]
let answer: string
let signIn: string | null
let wanted: (string | undefined)[]
let network: Network

beforeAll(async () => {
  authority = await createAuthority(['localhost.company.example'])
  setDefaultCACertificates([...rootCertificates, await readFile(authority.file, 'utf8')])
  server = createServer(authority.server, (request, response) => {
    void text(request).then(body => received.push({ path: request.url ?? '', body }))
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    if (request.url === '/nothing') return response.writeHead(204).end()
    response.write('first ')
    if (request.url === '/endless') return
    response.end('second')
  })
  sockets = new WebSocketServer({ server, handleProtocols: () => TUNNEL_PROTOCOL })
  sockets.on('connection', (socket: WebSocket) => socket.send('hello'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  proxy = await startConnectProxy({
    'localhost.company.example:443': `127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
})
afterAll(async () => {
  setDefaultCACertificates([...rootCertificates])
  await proxy[Symbol.asyncDispose]()
  for (const socket of sockets.clients) socket.terminate()
  server.closeAllConnections()
  server.close()
  await authority[Symbol.asyncDispose]()
})
beforeEach(() => {
  answer = `PROXY ${new URL(proxy.url).host}`
  proxy.refuse(undefined)
  proxy.wants = undefined
  proxy.asked.length = 0
  signIn = null
  received = []
  wanted = []
  network = createNetwork({
    findWays: () => Promise.resolve(parsePacAnswer(answer)),
    signInFor({ refused }) {
      wanted.push(refused)
      return Promise.resolve(signIn)
    },
  })
})

/** The sentence for the user when a request fails. */
const whyOf = (failing: Promise<unknown>) =>
  failing.then(
    () => 'it worked',
    (error: unknown) => (isAppError(error) ? String(error.detail.why) : String(error)),
  )

test('requests go by the proxy, with bodies of every form, and share a connection', async () => {
  const stream = new Blob(['streamed']).stream()
  const answers = [
    await network.fetch(`${SERVER}/text`, { method: 'POST', body: 'written' }),
    await network.fetch(`${SERVER}/stream`, { method: 'POST', body: stream, duplex: 'half' } as RequestInit),
    await network.fetch(`${SERVER}/nothing`),
  ]
  const bodies: string[] = []
  for (const reply of answers) bodies.push(await reply.text())
  expect(bodies).toEqual(['first second', 'first second', ''])
  expect(answers[0]?.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  await expect.poll(() => received).toHaveLength(3)
  expect(received).toEqual([
    { path: '/text', body: 'written' },
    { path: '/stream', body: 'streamed' },
    { path: '/nothing', body: '' },
  ])
  expect(proxy.asked[0]).toEqual({ place: 'localhost.company.example:443', signIn: undefined })
})

test('a request that is given up is given up at the server', async () => {
  const stop = new AbortController()
  const reply = await network.fetch(`${SERVER}/endless`, { signal: stop.signal })
  stop.abort()
  await expect(reply.text()).rejects.toThrow('aborted')
})

test('a tunnel is dialled by the proxy, and its first bytes are not lost', async () => {
  const socket = await dialTunnel({ managerUrl: SERVER, sessionId: SESSION, app: 'sshd', headers: {}, network })
  socket.resume()
  const [frame] = (await once(socket, 'data')) as [Buffer]
  expect(frame.subarray(2).toString()).toBe('hello')
  socket.destroy()
  expect(proxy.asked).toHaveLength(1)
})

test('a proxy that is not there is left for the next way; without one it is named', async () => {
  const away = 'PROXY 127.0.0.1:9'
  answer = `${away}; ${answer}`
  expect((await network.fetch(`${SERVER}/text`)).status).toBe(200)
  answer = away
  expect(await whyOf(network.detour(new URL(SERVER)))).toBe(
    'The proxy http://127.0.0.1:9 of your network does not answer.',
  )
})

test.each([
  ['403 Forbidden', 'refused to connect to localhost.company.example:443 (HTTP 403)'],
  ['502 Bad Gateway', 'could not connect to localhost.company.example:443 (HTTP 502)'],
  ['407 No\r\nProxy-Authenticate: Negotiate', 'asks for a sign-in that Berth cannot do: Negotiate'],
])('the answer %j of the proxy is told as its own', async (line, why) => {
  proxy.refuse(line)
  expect(await whyOf(network.fetch(`${SERVER}/text`))).toContain(`The proxy ${proxy.url} of your network ${why}`)
  expect(wanted).toEqual([])
})

test('a proxy that wants a sign-in is named, and gets the one that is known, which is asked for again once it is refused', async () => {
  proxy.wants = 'mira:secret'
  const ask = () => network.fetch(`${SERVER}/text`)
  expect(await whyOf(ask())).toContain('asks for a name and a password')
  signIn = 'mira:wrong'
  expect(await whyOf(ask())).toContain('refused the name or the password')
  signIn = 'mira:secret'
  expect((await ask()).status).toBe(200)
  expect(wanted).toEqual([undefined, undefined, 'mira:wrong'])
  // A tunnel is another connection: it uses the sign-in, and nothing is asked.
  ;(await network.detour(new URL(SERVER)))?.destroy()
  proxy.wants = 'mira:changed'
  signIn = 'mira:changed'
  ;(await network.detour(new URL(SERVER)))?.destroy()
  expect(wanted.slice(3)).toEqual(['mira:secret'])
})

test('a sign-in is tried out with one connection; a request that is given up does not wait for the answer', async () => {
  proxy.wants = 'mira:secret'
  const answers: boolean[] = []
  const asks = Promise.withResolvers<undefined>()
  const asking = createNetwork({
    findWays: () => Promise.resolve(parsePacAnswer(answer)),
    async signInFor({ tryOut }) {
      for (const tried of ['mira:wrong', 'mira:secret']) answers.push(await tryOut(tried))
      asks.resolve(undefined)
      return await new Promise<never>(() => undefined)
    },
  })
  const stop = new AbortController()
  const given = asking.fetch(`${SERVER}/text`, { signal: stop.signal })
  await asks.promise
  expect(answers).toEqual([false, true])
  expect(proxy.asked.map(({ signIn: sent }) => sent)).toEqual([undefined, 'mira:wrong', 'mira:secret'])
  stop.abort()
  await expect(given).rejects.toThrow('aborted')
})

test('a server whose certificate is not valid is refused behind a proxy too', async () => {
  const place = `https://other.company.example:${(server.address() as AddressInfo).port}`
  await using other = await startConnectProxy({
    [new URL(place).host]: `127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
  answer = `PROXY ${new URL(other.url).host}`
  await expect(network.fetch(place)).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  expect(received).toEqual([])
})

describe('a SOCKS proxy', () => {
  let socks: SocksProxy

  beforeAll(async () => {
    const { port } = server.address() as AddressInfo
    socks = await startSocksProxy({ 'localhost.company.example:443': `127.0.0.1:${port}` })
  })
  afterAll(() => socks[Symbol.asyncDispose]())
  beforeEach(() => {
    socks.wants = undefined
    answer = `SOCKS5 ${new URL(socks.url).host}`
  })

  test('carries requests and tunnels, and looks up the name of the server itself', async () => {
    const reply = await network.fetch(`${SERVER}/text`, { method: 'POST', body: 'written' })
    expect(await reply.text()).toBe('first second')
    const tunnel = await dialTunnel({ managerUrl: SERVER, sessionId: SESSION, app: 'sshd', headers: {}, network })
    tunnel.resume()
    const [frame] = (await once(tunnel, 'data')) as [Buffer]
    expect(frame.subarray(2).toString()).toBe('hello')
    tunnel.destroy()
    expect(socks.asked).toEqual(['localhost.company.example:443', 'localhost.company.example:443'])
  })

  test.each([
    ['http://192.0.2.7:81', '192.0.2.7:81'],
    ['http://[2001:db8::7:0:1]:81', '[2001:db8:0:0:0:7:0:1]:81'],
  ])('is asked for the address %s, and its refusal is told', async (url, place) => {
    expect(await whyOf(network.fetch(url))).toBe(
      `The proxy ${socks.url} of your network could not connect to ${new URL(url).host}: not allowed.`,
    )
    expect(socks.asked.at(-1)).toBe(place)
  })

  test('gets the name and the password that it wants', async () => {
    socks.wants = 'mira:se:cret'
    expect(await whyOf(network.fetch(`${SERVER}/text`))).toContain('asks for a name and a password')
    signIn = 'mira:wrong'
    expect(await whyOf(network.fetch(`${SERVER}/text`))).toContain('refused the name or the password')
    signIn = 'mira:se:cret'
    expect((await network.fetch(`${SERVER}/text`)).status).toBe(200)
  })

  test('that is none, or is away, is named', async () => {
    answer = `SOCKS5 ${new URL(proxy.url).host}`
    expect(await whyOf(network.fetch(`${SERVER}/text`))).toContain('does not speak SOCKS 5')
    answer = 'SOCKS5 127.0.0.1:9'
    expect(await whyOf(network.fetch(`${SERVER}/text`))).toContain(
      'socks5://127.0.0.1:9 of your network does not answer',
    )
  })
})

test('a kind of proxy that Berth cannot use is named; this computer never goes by a proxy', async () => {
  answer = 'SOCKS4 s.example:1080'
  expect(await whyOf(network.fetch(`${SERVER}/text`))).toContain('SOCKS4 s.example:1080')
  const port = (server.address() as AddressInfo).port
  expect(await network.detour(new URL(`https://127.0.0.1:${port}`))).toBeUndefined()
  expect((await network.fetch(`https://localhost:${port}/text`)).status).toBe(200)
})

test('the command line goes by the proxy of HTTPS_PROXY, and names one that refuses', async () => {
  await using cli = await createCli()
  const login = async (password: string, userinfo = '') => {
    const HTTPS_PROXY = proxy.url.replace('//', `//${userinfo}`)
    const child = cli.start(loginCommand(SERVER), { HTTPS_PROXY, NODE_EXTRA_CA_CERTS: authority.file })
    child.stdin.end(password)
    return await outcomeOf(child)
  }
  proxy.wants = 'mira:se:cret'
  expect((await login('password')).err).toContain('asks for a name and a password')
  expect((await login('password', 'mira:other@')).err).toContain('refused the name or the password')
  await login('password', 'mira:se%3Acret@')
  await expect.poll(() => received.map(({ path }) => path)).toEqual(['/api/v1/auth/login'])
  proxy.refuse('403 Forbidden')
  const { code, err } = await login('password')
  expect(code).toBe(1)
  expect(err).toContain(`The proxy ${proxy.url} of your network refused`)
})

test('a connection that the proxy cuts is a failure, and the next request says why there is no other', async () => {
  const stream = await network.fetch(`${SERVER}/endless`)
  await (await network.fetch(`${SERVER}/text`)).text()
  proxy.refuse('403 Forbidden')
  proxy.cut()
  await expect(stream.text()).rejects.toThrow()
  expect(await whyOf(network.fetch(`${SERVER}/text`))).toContain('HTTP 403')
})

describe('a server whose certificate no authority vouches for', () => {
  let own: Server
  let url: string
  let paths: string[]

  /** The server with a new certificate of its own, at the same port. */
  async function startOwn(port = 0): Promise<string> {
    await using made = await createAuthority()
    return await serveWith(made.server, port)
  }
  async function serveWith(server: { readonly cert: string; readonly key: string }, port: number): Promise<string> {
    paths = []
    own = createServer(server, (request, response) => {
      paths.push(request.url ?? '')
      response.writeHead(401).end()
    })
    await once(own.listen(port, '127.0.0.1'), 'listening')
    url = `https://localhost:${(own.address() as AddressInfo).port}`
    return new X509Certificate(server.cert).fingerprint256
  }
  async function stopOwn() {
    own.closeAllConnections()
    own.close()
    await once(own, 'close')
  }

  test('is reached by its pin; another certificate is refused with both fingerprints, and gets nothing', async () => {
    const first = await startOwn()
    const pinned = createNetwork({
      findWays: () => Promise.resolve([{ kind: 'direct' }]),
      pinOf: origin => (origin === url ? first : undefined),
    })
    await expect(network.fetch(url)).rejects.toThrow()
    expect((await pinned.shownBy(new URL(url))).fingerprint).toBe(first)
    expect(paths).toEqual([])
    expect((await pinned.fetch(`${url}/known`)).status).toBe(401)
    expect(paths).toEqual(['/known'])
    const { port } = own.address() as AddressInfo
    await stopOwn()
    const second = await startOwn(port)
    for (const failing of [() => pinned.fetch(url), () => pinned.detour(new URL(url))]) {
      const why = await whyOf(failing())
      expect(why).toContain(`Known: SHA-256 ${first}. Now: SHA-256 ${second}.`)
    }
    expect(paths).toEqual([])
    await stopOwn()
  })

  test('is shown by berth login and named by its fingerprint; its key is pinned, which a renewal keeps, and another key blocks', async () => {
    await using directory = await temporaryDirectory()
    const made = (daysAgo: number) =>
      openOwnCertificate(directory.path, ['localhost'], new Date(Date.now() - daysAgo * 86_400_000))
    const first = await serveWith(await made(310), 0)
    await using cli = await createCli()
    const login = async (...flags: string[]) => {
      const child = cli.start([...loginCommand(url), ...flags])
      child.stdin.end('password')
      return (await outcomeOf(child)).err
    }
    expect(await login()).toContain(`add: --fingerprint ${first}`)
    expect(await login('--fingerprint', first.replace(/^../, first.startsWith('00') ? '11' : '00'))).toContain(first)
    expect(paths).toEqual([])
    await login('--fingerprint', first.replaceAll(':', '').toLowerCase())
    expect(paths).toEqual([expect.stringContaining('login')])
    const { port } = own.address() as AddressInfo
    await stopOwn()
    expect(await serveWith(await made(0), port)).not.toBe(first)
    await login()
    expect(paths).toEqual([expect.stringContaining('login')])
    await stopOwn()
    const other = await startOwn(port)
    // The numbers of the certificates: the one typed by the user, and the one that the administrator reads at the server.
    expect(await login()).toContain(`Known: SHA-256 ${first}. Now: SHA-256 ${other}.`)
    expect(paths).toEqual([])
    await stopOwn()
  })
})
