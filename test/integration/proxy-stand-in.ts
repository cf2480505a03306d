import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import {
  type App,
  AppError,
  type Grant,
  GRANT_HEADER,
  ORIGIN_SECRET_HEADER,
  Session,
  type SshAccess,
  toProblem,
  TUNNEL_PROTOCOL,
  TunnelEnd,
} from '#manager/contract'

/** What a stand-in serves as one app: where it is, and what the manager says about it. */
export interface StandInApp {
  readonly app: App
  readonly port: number
  readonly inject?: Grant['inject']
}

/**
 * The manager and agent of one session in one process: real grants routes, real upgrade, the agent's real end of the tunnel
 * (`TunnelEnd`), dialled to services of the test. It can be stopped and started again at the same port.
 */
export class StandIn implements AsyncDisposable {
  readonly session: Session
  readonly apps: Map<string, StandInApp>
  readonly seen: { method: string; url: string; headers: IncomingMessage['headers'] }[] = []
  readonly tunnels = new Set<TunnelEnd>()
  sshAccess: SshAccess | undefined
  /** Grants that are accepted; a restart forgets none unless told to. */
  readonly grants = new Set<string>()
  /** Routes, by their last word, that answer only when this resolves. */
  readonly held = new Map<string, Promise<unknown>>()
  isSignedIn = true
  /** The cookie's value of a sign-in that is over while others are not. */
  ended: string | undefined
  readonly originSecret = 'origin-secret-of-the-test'
  readonly userId = randomUUID()
  dials = 0
  #server = createServer()
  #sockets = new Set<Socket>()
  #streams = new Set<ServerResponse>()
  #port = 0

  constructor(apps: readonly StandInApp[], name = 'my-session') {
    this.apps = new Map(apps.map(entry => [entry.app.name, entry]))
    this.session = aSession(
      name,
      apps.map(entry => entry.app),
    )
  }

  get url() {
    return `http://127.0.0.1:${this.#port}`
  }

  readonly credentials = () => Promise.resolve({ authorization: 'Bearer test' })

  async start(): Promise<this> {
    const server = createServer()
    this.#server = server
    server.on('connection', socket => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.on('request', (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        const problem = toProblem(error)
        response.writeHead(problem.status, { 'content-type': 'application/problem+json' })
        response.end(JSON.stringify(problem))
      })
    })
    server.on('upgrade', (request: IncomingMessage, _, head: Buffer) => {
      this.#upgrade(request, request.socket, head)
    })
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#port = (server.address() as AddressInfo).port
    return this
  }

  /** Gone, as after a crash: every connection is reset. */
  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    for (const socket of this.#sockets) socket.resetAndDestroy()
    await closed
  }

  /** Says in the event stream that the session changed. */
  hint() {
    const hint = JSON.stringify({ topic: 'session', id: this.session.id, version: 2 })
    for (const stream of this.#streams) stream.write(`event: hint\ndata: ${hint}\n\n`)
  }

  endSession() {
    Object.assign(this.session, { status: 'TERMINATED' })
    this.grants.clear()
  }

  get eventStreams() {
    return this.#streams.size
  }

  async [Symbol.asyncDispose]() {
    if (this.#server.listening) await this.stop()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request
    this.seen.push({ method, url, headers })
    const body: Buffer[] = []
    for await (const chunk of request) body.push(chunk as Buffer)
    await this.held.get(url.split('/').at(-1) ?? '')
    const send = (value: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    if (url === '/api/v1/grants/renew') {
      const grant = String(headers[GRANT_HEADER])
      if (!this.grants.has(grant)) throw new AppError('grant_invalid')
      send(this.#grant(String(headers['x-app'] ?? [...this.apps.keys()][0]), grant))
      return
    }
    if (url === '/api/v1/echo') {
      send({ body: Buffer.concat(body).toString(), headers })
      return
    }
    const isEnded = this.ended !== undefined && headers.cookie?.endsWith(`=${this.ended}`) === true
    const isHalf = headers.cookie !== undefined && headers[ORIGIN_SECRET_HEADER] !== this.originSecret
    if (!this.isSignedIn || isEnded || isHalf) throw new AppError('not_signed_in')
    const base = `/api/v1/sessions/${this.session.id}`
    const grantOf = new RegExp(`^${base}/apps/([a-z-]+)/grant$`).exec(url)?.[1]
    if (url === '/api/v1/events') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      this.#streams.add(response)
      response.once('close', () => this.#streams.delete(response))
    } else if (url === '/api/v1/me') {
      const user = {
        id: this.userId,
        email: 'a@localhost',
        name: 'A',
        role: 'user',
        domain: 'default',
        groups: [],
        active: true,
        emailVerified: true,
        secondFactor: false,
        resourcePolicy: 'default',
        createdAt: new Date().toISOString(),
      }
      send({ user, expiresAt: new Date(Date.now() + 3_600_000).toISOString() })
    } else if (url.split('?', 1)[0] === '/api/v1/auth/logout') {
      response.writeHead(204).end()
    } else if (url === base) send(this.session)
    else if (url === `${base}/ssh` && this.sshAccess) send(this.sshAccess)
    else if (grantOf !== undefined && method === 'POST') {
      if (this.session.status !== 'RUNNING') throw new AppError('session_not_running')
      if (!this.apps.has(grantOf)) throw new AppError('app_not_found')
      const grant = randomUUID()
      this.grants.add(grant)
      send(this.#grant(grantOf, grant), 201)
    } else throw new AppError('session_not_found')
  }

  #grant(name: string, grant: string): Grant {
    const entry = this.apps.get(name)
    if (!entry) throw new AppError('app_not_found')
    const expiresAt = new Date(Date.now() + 300_000).toISOString()
    return { grant, sessionId: this.session.id, app: entry.app, expiresAt, inject: entry.inject ?? null }
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer) {
    this.dials++
    // Until the tunnel end listens itself.
    socket.on('error', () => undefined)
    const url = new URL(request.url ?? '', 'http://manager')
    this.seen.push({ method: 'UPGRADE', url: request.url ?? '', headers: request.headers })
    const entry = this.apps.get(url.searchParams.get('app') ?? '')
    if (!this.grants.has(String(request.headers[GRANT_HEADER])) || !entry) {
      const body = JSON.stringify(toProblem(new AppError('grant_invalid')))
      socket.end(
        `HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
      )
      return
    }
    const accept = createHash('sha1')
      .update(`${String(request.headers['sec-websocket-key'])}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${TUNNEL_PROTOCOL}\r\n\r\n`,
    )
    if (head.length > 0) socket.unshift(head)
    const service = connect({ port: entry.port, host: '127.0.0.1', allowHalfOpen: true })
    service.once('connect', () => {
      service.removeAllListeners('error')
      const end = new TunnelEnd({ wire: socket, local: service, role: 'server', onEnd: () => this.tunnels.delete(end) })
      this.tunnels.add(end)
    })
    service.once('error', () => {
      socket.end(Buffer.from([0x88, 0x02, 0x03, 0xf5])) // close 1013: the port refused
    })
  }
}

export function aSession(name: string, apps: readonly App[]): Session {
  return Session.parse({
    id: `01900000-0000-7000-8000-${randomUUID().slice(-12)}`,
    name,
    status: 'RUNNING',
    reason: { code: 'started', message: 'Started.' },
    queuePosition: null,
    reachable: true,
    ownerId: randomUUID(),
    ownerEmail: 'a@localhost',
    domain: 'default',
    group: null,
    resourceGroup: 'default',
    image: 'berth/python:3.13',
    imageDigest: null,
    requested: {},
    clusterSize: 1,
    priority: 0,
    dependsOn: [],
    shmem: '64m',
    environ: {},
    startupCommand: null,
    kind: 'interactive',
    result: null,
    idleTimeoutSeconds: null,
    maxLifetimeSeconds: null,
    expiresAt: null,
    ends: null,
    usage: null,
    apps: [...apps],
    kernels: [],
    stats: null,
    pull: null,
    createdAt: new Date().toISOString(),
    startedAt: new Date().toISOString(),
    endedAt: null,
    version: 1,
  })
}

export const tcpApp = (name: string): App => ({ name, title: name, protocol: 'tcp', path: '/' })
export const httpApp = (name: string, path = '/'): App => ({ name, title: name, protocol: 'http', path })
