import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAppsAddress } from '#manager/contract'
import { startProxy } from '#proxy'
import { createHttpServer } from '../../../proxy/http/create-server.ts'
import { silentLog } from '../../../proxy/log.ts'
import { createPublicApp, type PublicAppDeps } from '../../../proxy/web/public-apps/public-app.ts'
import { newVisit, visitCookie } from '../../../proxy/web/public-apps/public-gate.ts'
import { startTestManager } from '../../fixtures/manager.ts'
import { httpApp, StandIn } from '../../fixtures/proxy-stand-in.ts'
import { startWebConsole } from '../../fixtures/web-console.ts'
import { REQUESTS, type Sent, SOCKETS } from './client-heads.ts'

/**
 * Everything that common clients send by default is passed on: the same server is asked directly, at the origin of an app, by a published
 * link and behind the console. Server and client see the same each time: request, status, fields and bodies.
 */

const run = promisify(execFile)

/** A route to a server of its own. */
interface Route {
  readonly port: number
  /** Name of the server for the client. */
  readonly host: string
  /** Name of the server for itself. */
  readonly seenHost: string
  /** Proof for Berth that the client is admitted; the server must not see it. */
  readonly cookie?: string
  readonly seen: Map<string, Seen>
}

interface Seen {
  readonly request: string
  readonly fields: readonly string[]
  readonly isChunked: boolean
  readonly body: string
}

const routes = new Map<string, Route>()
const stack = new AsyncDisposableStack()

function routeOf(name: 'directly' | 'app origin' | 'published link' | 'console'): Route {
  const route = routes.get(name)
  if (!route) throw new Error(`there is no route ${name}`)
  return route
}

beforeAll(async () => {
  const direct = await reflecting()
  routes.set('directly', { ...direct, host: `127.0.0.1:${direct.port}`, seenHost: `127.0.0.1:${direct.port}` })
  routes.set('app origin', await appOrigin(await reflecting()))
  routes.set('published link', await publishedLink(await reflecting()))
  const behind = await reflecting()
  const { web, host } = await startWebConsole(stack, { managerUrl: `http://127.0.0.1:${behind.port}` })
  routes.set('console', { port: web.port, host, seenHost: `127.0.0.1:${behind.port}`, seen: behind.seen })
})
afterAll(() => stack.disposeAsync())

/** Fields of a single connection, and those with which the console and links report their client. */
const OF_THE_HOP =
  /^(connection|keep-alive|proxy-connection|te|upgrade|http2-settings|transfer-encoding|expect|x-forwarded-(for|proto|host)):/i

const linesOf = (raw: readonly string[]) =>
  raw.flatMap((name, at) => (at % 2 ? [] : [`${name}: ${raw[at + 1] ?? ''}`])).filter(line => !OF_THE_HOP.test(line))

const digest = (bytes: Buffer) => `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`

/** A server that records requests, and answers in all usual ways. */
async function reflecting() {
  const seen = new Map<string, Seen>()
  // Like servers that support only WebSockets; by default Node treats every offer as one.
  const shouldUpgradeCallback = ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket'
  const server = createServer({ shouldUpgradeCallback, maxHeaderSize: 64 * 1024 }, (request, response) => {
    void buffer(request).then(body => {
      const { method = '', url = '', rawHeaders, headers } = request
      const id = /[?&]id=(\d+)$/.exec(url)?.[1] ?? ''
      const isChunked = headers['transfer-encoding'] !== undefined
      seen.set(id, { request: `${method} ${url}`, fields: linesOf(rawHeaders), isChunked, body: digest(body) })
      answer(Number(id), request, response)
    })
  })
  server.on('upgrade', ({ headers }: IncomingMessage, socket: Socket) => {
    const guid = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
    const accept = createHash('sha1').update(`${headers['sec-websocket-key']}${guid}`).digest('base64')
    const extensions = headers['sec-websocket-extensions'] ? 'Sec-WebSocket-Extensions: permessage-deflate\r\n' : ''
    socket.on('error', () => undefined)
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${extensions}Sec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    socket.pipe(socket)
  })
  return { port: await listening(server), seen }
}

function answer(id: number, { url, headers }: IncomingMessage, response: ServerResponse): void {
  const isPacked = id % 2 === 0 && /gzip/.test(String(headers['accept-encoding']))
  const text = Buffer.from(`\xff\0${'answer '.repeat((id % 5) * 4000)}`, 'latin1')
  const body = isPacked ? gzipSync(text) : text
  const status = [200, 201, 404, 500, 302, 200, 204][id % 7] ?? 200
  response.writeHead(status, [
    ...['Date', 'Sat, 28 Nov 2026 00:00:00 GMT', 'Content-Type', 'text/plain; charset=utf-8', 'ETag', '"v1"'],
    ...['Set-Cookie', 'a=1; Path=/', 'set-cookie', 'b=2; HttpOnly', 'Vary', 'Accept', 'X-Empty', '', 'X-Raw', '\xe9'],
    ...(isPacked ? ['Content-Encoding', 'gzip'] : []),
    ...(url?.includes('/long?') === true ? ['X-Long', 'b'.repeat(40_000)] : []),
    ...(status === 302 ? ['Location', '/api/reflect/elsewhere?a=b%20c#d'] : []),
    ...(id % 3 === 0 || status === 204 ? [] : ['Content-Length', String(body.length)]),
  ])
  if (status === 204) response.end()
  else response.write(body.subarray(0, 100), () => response.end(body.subarray(100)))
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  stack.defer(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function appOrigin({ port, seen }: Pick<Route, 'port' | 'seen'>): Promise<Route> {
  const manager = stack.use(await new StandIn([{ app: httpApp('web', '/'), port }]).start())
  const dataDir = await mkdtemp(join(tmpdir(), 'berth-test-clients-'))
  stack.defer(() => rm(dataDir, { recursive: true }))
  const options = { managerUrl: manager.url, credentials: manager.credentials, dataDir, userId: manager.userId }
  const proxy = stack.use(await startProxy({ ...options, sshDirectory: join(dataDir, '.ssh') }))
  const { url, tunnel } = await proxy.tunnel.openApp({ sessionId: manager.session.id, app: 'web' })
  const { host, pathname, search } = new URL(url)
  const welcome = await send(tunnel.port, `GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  const cookie = /^set-cookie: ([^;]+)/im.exec(welcome.head)?.[1] ?? ''
  return { port: tunnel.port, host, seenHost: host, cookie, seen }
}

async function publishedLink({ port, seen }: Pick<Route, 'port' | 'seen'>): Promise<Route> {
  const address = parseAppsAddress('http://*.apps.example.org')
  if (!address) throw new Error('the address is one')
  const host = 'abcdefghijklmnop.apps.example.org'
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  const app = httpApp('web', '/')
  const served = { id: 'a link', name: 'abcdefghijklmnop', port: null, sessionId: 'a session', app: 'web', path: '/' }
  const rest = { sessionName: 'train', title: 'Web', needsPassword: false, addresses: [], expiresAt, visitSecret: 's' }
  const grant = { grant: 'g', sessionId: 'a session', app, expiresAt, inject: null }
  const deps = {
    served: { ...served, ...rest },
    place: 'abcdefghijklmnop',
    address,
    api: {
      getServedApp: () => Promise.resolve(served),
      grantServedApp: () => Promise.resolve(grant),
      renewGrant: () => Promise.resolve(grant),
    },
    transport: {
      dial: async () => {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
        await once(socket, 'connect')
        return socket
      },
      stream: (socket: Socket) => socket,
    },
    addressOf: () => '203.0.113.7',
    onEnded: () => undefined,
    log: silentLog,
  }
  // Neither the manager nor a tunnel takes part here.
  const published = stack.use(createPublicApp(deps as unknown as PublicAppDeps))
  const server = createHttpServer({
    onRequest: (request, response) => published.request(request, response),
    onUpgrade: (request, socket, head) => published.upgrade(request, socket, head),
    maxHeaderSize: 64 * 1024,
    log: silentLog,
  })
  const door = { authority: host, scheme: 'http', id: 'a link', name: served.name, visitSecret: 's' } as const
  const cookie = `${visitCookie(door).name}=${newVisit({ ...door, nowMs: Date.now() }, Date.parse(expiresAt)).value}`
  return { port: await listening(server), host, seenHost: host, cookie, seen }
}

interface Got {
  readonly head: string
  readonly body: Buffer
}

/** Sends a request, its body when the server asks for it, and then a second request on the same connection. */
function send(port: number, head: string, more: { body?: string; waits?: boolean; next?: string } = {}) {
  return new Promise<Got & { readonly next?: string }>((resolve, reject) => {
    const { body = '', waits = false, next } = more
    const socket = connect(port, '127.0.0.1')
    socket.on('error', reject)
    socket.setTimeout(60_000, () => {
      reject(new Error(`no answer to ${head}`))
      socket.destroy()
    })
    socket.write(waits ? head : head + body, 'latin1')
    let bytes: Buffer = Buffer.alloc(0)
    let hasContinued = !waits
    let first: Got | undefined
    const look = (isOver: boolean) => {
      const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
      if (!hasContinued && bytes.toString('latin1').startsWith(CONTINUE)) {
        hasContinued = true
        bytes = bytes.subarray(CONTINUE.length)
        socket.write(body, 'latin1')
      }
      const got = readAnswer(bytes, isOver, (first ? '' : head).startsWith('HEAD'))
      if (!got) return
      if (!first && next !== undefined && !isOver) {
        first = got
        bytes = Buffer.alloc(0)
        socket.write(next, 'latin1')
        return
      }
      resolve(first ? { ...first, next: got.head.split('\r\n', 1)[0] ?? '' } : got)
      socket.destroy()
    }
    socket.on('data', chunk => {
      bytes = Buffer.concat([bytes, chunk])
      look(false)
    })
    socket.on('end', () => {
      look(true)
      reject(new Error(`half an answer to ${head}: ${bytes.toString('latin1').slice(0, 500)}`))
    })
  })
}

/** @returns undefined while the answer is incomplete */
function readAnswer(bytes: Buffer, isOver: boolean, isHead: boolean): Got | undefined {
  const at = bytes.indexOf('\r\n\r\n')
  if (at < 0) return undefined
  const head = bytes.toString('latin1', 0, at)
  const rest = bytes.subarray(at + 4)
  if (isHead || / (204|304) /.test(head.slice(0, 14))) return { head, body: Buffer.alloc(0) }
  const length = /^content-length: (\d+)/im.exec(head)?.[1]
  if (length !== undefined) return rest.length >= Number(length) ? { head, body: rest } : undefined
  if (!/^transfer-encoding: chunked/im.test(head)) return isOver ? { head, body: rest } : undefined
  const parts: Buffer[] = []
  for (let from = 0; ;) {
    const line = rest.indexOf('\r\n', from)
    if (line < 0) return undefined
    const size = Number.parseInt(rest.toString('latin1', from, line), 16)
    if (size === 0) return rest.length >= line + 4 ? { head, body: Buffer.concat(parts) } : undefined
    parts.push(rest.subarray(line + 2, line + 2 + size))
    from = line + 4 + size
  }
}

function headOf({ method, path, version, head }: Sent, id: number, { host, cookie }: Route): string {
  const lines = head.map(line => line.replace('{host}', host).replace('{origin}', `http://${host}`))
  const target = `/api/reflect/${path}${path.includes('?') ? '&' : '?'}id=${id}`
  return `${[`${method} ${target} HTTP/${version ?? '1.1'}`, ...lines, ...(cookie ? [`Cookie: ${cookie}`] : [])].join('\r\n')}\r\n\r\n`
}

/** The server's and the client's view of one request, without the names of the route. */
async function exchange(sent: Sent, id: number, route: Route) {
  const head = headOf(sent, id, route)
  const mayGoOn = sent.version === undefined && !/^connection: .*close/im.test(head)
  const plain: Sent = { client: '', method: 'GET', path: 'next', head: ['Host: {host}'] }
  const next = mayGoOn ? { next: headOf(plain, 10_000, route) } : {}
  const got = await send(route.port, head, { ...sent, ...next })
  const [status, ...fields] = got.head.split('\r\n')
  const named = (line: string) => line.replaceAll(route.seenHost, '{host}').replaceAll(route.host, '{host}')
  const { fields: seenFields = [], ...seen } = route.seen.get(String(id)) ?? {}
  return {
    status: status?.split(' ')[1],
    fields: fields.filter(line => !OF_THE_HOP.test(line) && !OF_PLACES.includes(line)),
    body: digest(got.body),
    next: got.next?.split(' ')[1],
    seen: { ...seen, fields: seenFields.map(named) },
  }
}

/** Added at addresses of apps: no sibling can frame an app, or use its scripts and pictures. */
const OF_PLACES = ["Content-Security-Policy: frame-ancestors 'self'", 'Cross-Origin-Resource-Policy: same-origin']

/** At most so many at once, because the listeners of this computer have limits. */
const AT_ONCE = 50

/** Exchanges by the direct route, which are the same for every other. */
const wanted = new Map<number, Promise<unknown>>()

describe.each(['app origin', 'published link', 'console'] as const)('%s', name => {
  test(`passes ${REQUESTS.length} requests of common clients, and their answers, unchanged`, async () => {
    expect(REQUESTS.length).toBeGreaterThan(250)
    const all = [...REQUESTS.entries()].filter(([, sent]) => !(name === 'console' && sent.isNullOrigin))
    const told = (id: number, sent: Sent, route: typeof name | 'directly') =>
      exchange(sent, id, routeOf(route)).catch((error: unknown) => String(error))
    const different: object[] = []
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const some = all.slice(from, from + AT_ONCE).map(async ([id, sent]) => {
        if (!wanted.has(id)) wanted.set(id, told(id, sent, 'directly'))
        const [direct, got] = [await wanted.get(id), await told(id, sent, name)]
        if (JSON.stringify(direct) !== JSON.stringify(got)) different.push({ client: sent.client, direct, got })
      })
      await Promise.all(some)
    }
    expect(different).toEqual([])
  })

  test.each(Object.entries(SOCKETS))('opens the WebSocket of %s', async (client, head) => {
    const told = async (way: Route) => {
      const socket = connect(way.port, '127.0.0.1')
      // Only at an address of tunnels, because the console forwards them nowhere else.
      const sent = headOf({ client, method: 'GET', path: 'ws', head }, 1, way).replace('/api/reflect/', '/stream/')
      socket.write(sent, 'latin1')
      const frame = '\x81\x85\x01\x02\x03\x04ignfn'
      let text = ''
      for await (const chunk of socket) {
        text += (chunk as Buffer).toString('latin1')
        if (text.endsWith('\r\n\r\n')) socket.write(frame, 'latin1')
        if (text.endsWith(frame))
          return text
            .replace(`${OF_PLACES.join('\r\n')}\r\n`, '')
            .toLowerCase()
            .split('\r\n')
            .toSorted()
      }
      return text
    }
    expect(await told(routeOf(name))).toEqual(await told(routeOf('directly')))
  })

  test.each(['GET HTTP/1.0', 'GET HTTP/1.1', 'POST HTTP/1.1'])(
    'gives the whole answer to a client that ends its side after %s',
    async line => {
      const [method, version] = line.split(' ')
      const { port, host, cookie = '' } = routeOf(name)
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      const fields = [
        `Host: ${host}`,
        ...(cookie ? [`Cookie: ${cookie}`] : []),
        `Content-Length: ${method === 'POST' ? 3 : 0}`,
      ]
      socket.end(
        `${method} /api/reflect/half?id=5 ${version}\r\n${fields.join('\r\n')}\r\n\r\n${method === 'POST' ? 'a=b' : ''}`,
      )
      const got = (await buffer(socket)).toString('latin1')
      expect(got).toMatch(/^HTTP\/1\.1 200 /)
      expect(got).toContain('Content-Length: 2\r\n')
      expect(got.endsWith('\xff\0')).toBe(true)
    },
  )

  test('says so if a head is longer than 64 KiB', async () => {
    const { port, host } = routeOf(name)
    const { head, body } = await send(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nX-Long: ${'a'.repeat(70_000)}\r\n\r\n`)
    expect(head).toMatch(/^HTTP\/1\.1 431 /)
    if (name !== 'published link') expect(body.toString()).toMatch(/too long/)
  })

  test('refuses HTTP/2 without an upgrade, as the server does', async () => {
    const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
    const { head } = await send(routeOf(name).port, preface)
    expect(head).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('serves curl and Python', async () => {
    const { host, port, cookie = '', seen } = routeOf(name)
    const url = (id: string) => `http://127.0.0.1:${port}/api/reflect/real?id=${id}`
    const fields = ['-H', `Host: ${host}`, ...(cookie ? ['-b', cookie] : [])]
    const file = join(await mkdtemp(join(tmpdir(), 'berth-test-curl-')), 'body')
    stack.defer(() => rm(join(file, '..'), { recursive: true }))
    await run('sh', ['-c', `head -c 3000000 /dev/zero > ${file}`])
    const ways: Record<string, string[]> = {
      20_001: ['--http2', '-d', 'a=b'],
      20_003: ['--http2', '-H', 'Transfer-Encoding: chunked', '--data-binary', `@${file}`],
      20_004: ['-T', file, '-H', 'Expect: 100-continue'],
      20_006: ['--compressed', '--http1.0', '-d', 'a=b'],
      20_007: ['-F', `f=@${file}`],
    }
    const ask = async (id: string, args: string[]) =>
      await run('curl', ['-sS', '-m', '10', '-o', '/dev/null', '-w', '%{http_code}', ...fields, ...args, url(id)])
    const codes = await Promise.all(Object.entries(ways).map(async ([id, args]) => (await ask(id, args)).stdout))
    expect(codes.filter(code => !/^(200|201|404|500|302|204)$/.test(code))).toEqual([])
    const sizes = Object.keys(ways).map(id => Number(seen.get(id)?.body.split(' ')[0]))
    expect(sizes.slice(0, 4)).toEqual([3, 3_000_000, 3_000_000, 3])
    expect(sizes[4]).toBeGreaterThan(3_000_000)

    const program = `import sys, urllib.request
request = urllib.request.Request(sys.argv[1], data=b'a=b', headers={'Host': sys.argv[2], 'Cookie': sys.argv[3]})
print(urllib.request.urlopen(request).status)`
    const { stdout } = await run('python3', ['-c', program, url('20020'), host, cookie || 'x=y'])
    expect(stdout.trim()).toBe('200')
    expect(seen.get('20020')?.body).toMatch(/^3 /)
  })
})

test('manager and console answer every program alike, and take the bodies of all', async () => {
  const manager = stack.use(await startTestManager())
  const { web, host } = await startWebConsole(stack, { managerUrl: manager.url })
  const { port, host: managerHost } = new URL(manager.url)
  const body = JSON.stringify({ email: 'owner@example.org', passwort: 'x' })
  const ask = async (sent: Sent, to: { port: number; host: string }) => {
    const fields = sent.head.map(line =>
      line.replace('{host}', to.host).replace(/^content-length: .*/i, `Content-Length: ${body.length}`),
    )
    const isRead = sent.body === undefined
    const line = isRead ? 'GET /api/v1/me HTTP/1.1' : 'POST /api/v1/auth/login HTTP/1.1'
    const got = await send(to.port, `${[line, ...fields].join('\r\n')}\r\n\r\n`, isRead ? {} : { body })
    const { code, detail } = JSON.parse(gotText(got)) as { code: string; detail: unknown }
    return `${got.head.slice(9, 12)} ${code} ${JSON.stringify(detail)}`
  }
  const gotText = ({ body: bytes }: Got) => bytes.toString()
  const asked = REQUESTS.filter(({ client }) => /: (GET|JSON)$/.test(client)).flatMap(sent =>
    [
      { port: Number(port), host: managerHost },
      { port: web.port, host },
    ].map(async to => `${sent.body === undefined ? 'GET' : 'POST'} ${await ask(sent, to)}`),
  )
  expect(asked.length).toBeGreaterThan(80)
  const answers = [...new Set(await Promise.all(asked))].toSorted()
  expect(answers).toEqual([
    expect.stringContaining('GET 401 not_signed_in'),
    expect.stringContaining('POST 400 bad_request'),
  ])
  expect(answers[1]).toMatch(/password/)
})
