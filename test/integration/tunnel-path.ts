import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer, type Server, Socket } from 'node:net'
import { createDataSockets } from '../../agent/tunnel/data-sockets.ts'
import { type Engine } from '../../agent/tunnel/service.ts'
import { createStreams } from '../../agent/tunnel/streams.ts'
import { AgentId, AppError, GRANT_HEADER, KernelId, SessionId, type TunnelOutcome, UserId } from '#manager/contract'
import { createTunnelGateway, type SessionLocation } from '../../manager/tunnels/gateway.ts'
import { dialTunnel } from '../../proxy/tunnel/dial.ts'
import { pipeTunnel } from '../../proxy/tunnel/pipe.ts'

export const SESSION = SessionId.parse('01900000-0000-7000-8000-000000000001')
export const KERNEL = KernelId.parse('01900000-0000-7000-8000-000000000002')
export const AGENT = AgentId.parse('01900000-0000-7000-8000-000000000003')
export const OWNER = UserId.parse('01900000-0000-7000-8000-000000000004')
export const STRANGER = UserId.parse('01900000-0000-7000-8000-000000000005')

export interface PathOptions {
  /** What runs in the container. */
  readonly service: (socket: Socket) => void
  readonly parked?: number
  readonly location?: Partial<SessionLocation>
  readonly takeTimeoutMs?: number
  readonly connected?: () => boolean
  readonly grantsHold?: () => boolean
  readonly credentialsHold?: () => boolean
  /** A real container in place of `service`. */
  readonly container?: {
    readonly docker: Engine
    readonly containerId: string
    readonly address: string
    readonly port: number
  }
}

const silent = { debug: () => undefined, warn: () => undefined }

/** Proxy, manager and agent in this process, with real sockets between them; only sessions, grants and sign-ins are made up. */
export async function startPath({
  service,
  parked = 4,
  location,
  takeTimeoutMs,
  connected,
  grantsHold,
  credentialsHold,
  container: real,
}: PathOptions) {
  await using stack = new AsyncDisposableStack()
  const authenticated = new WeakSet<IncomingMessage>()
  const sockets = new Set<Socket>()
  const track = (server: Server) => {
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    stack.defer(() => void server.close())
    return server
  }

  const container = track(
    createServer({ allowHalfOpen: true }, socket => {
      socket.on('error', () => undefined)
      service(socket)
    }),
  )
  const servicePort = await listen(container)

  const gateway = createTunnelGateway({
    ...(takeTimeoutMs ? { takeTimeoutMs } : {}),
    locate: id =>
      id === SESSION
        ? Promise.resolve({
            agentId: AGENT,
            kernelId: KERNEL,
            status: 'RUNNING',
            apps: [{ name: 'echo' }, { name: 'closed' }],
            ownerId: OWNER,
            domain: 'default',
            ...location,
          })
        : Promise.reject(new AppError('session_not_found')),
    verifyGrant: (grant, sessionId, app) =>
      grant === `grant-${sessionId}-${app}` && (grantsHold?.() ?? true)
        ? Promise.resolve({ loginId: 'login-1' })
        : Promise.reject(new AppError('grant_invalid')),
    authenticateUpgrade: request => {
      // As with a signature, which is good once.
      if (authenticated.has(request)) return Promise.reject(new AppError('signature_replayed'))
      authenticated.add(request)
      const { headers } = request
      const user = { 'Bearer owner': OWNER, 'Bearer stranger': STRANGER, 'Bearer admin': STRANGER }[
        headers.authorization ?? ''
      ]
      if (!user) return Promise.reject(new AppError('not_signed_in'))
      const role = headers.authorization === 'Bearer admin' ? ('superadmin' as const) : ('user' as const)
      return Promise.resolve({ userId: user, role, domain: 'default', loginId: 'login-2' })
    },
    credentialHolds: () => Promise.resolve(credentialsHold?.() ?? true),
    agents: {
      reach: () => ((connected?.() ?? true) ? Promise.resolve() : Promise.reject(new AppError('agent_unreachable'))),
      verifyDataToken: token => (token === 'data-token' ? AGENT : undefined),
      verifyDataProof: () => undefined,
    },
  })
  const manager = track(createHttpServer())
  manager.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    void gateway.handle(request, socket, head)
  })
  const managerPort = await listen(manager)
  const managerUrl = `http://127.0.0.1:${managerPort}`

  const closedPort = await listenAndClose()
  const streams = stack.use(
    createStreams({
      kernels: {
        find: id =>
          id === KERNEL
            ? {
                kernelId: KERNEL,
                containerId: real?.containerId ?? `none-${servicePort}`,
                address: real?.address ?? '127.0.0.1',
                user: '0:0',
                apps: [
                  { name: 'echo', port: real?.port ?? servicePort },
                  { name: 'closed', port: closedPort },
                ],
              }
            : undefined,
        ensureApp: () => Promise.resolve(),
      },
      docker: real?.docker ?? {
        getContainer: () => {
          throw new Error('there is no container here')
        },
      },
      log: silent,
    }),
  )
  const startAgent = (count = 4) =>
    createDataSockets({ managerUrl, dataToken: 'data-token', count, serve: streams.serve, log: silent })
  if (parked > 0) stack.use(startAgent(parked))

  const outcomes: TunnelOutcome[] = []
  const errors: unknown[] = []
  const dial = (app = 'echo', grant = `grant-${SESSION}-${app}`) =>
    dialTunnel({ managerUrl, sessionId: SESSION, app, headers: { [GRANT_HEADER]: grant } })
  const proxy = track(
    createServer({ allowHalfOpen: true, pauseOnConnect: true }, client => {
      client.on('error', () => undefined)
      dial().then(
        async wire => outcomes.push(await pipeTunnel(client, wire)),
        (error: unknown) => {
          errors.push(error)
          client.resetAndDestroy()
        },
      )
    }),
  )
  const port = await listen(proxy)

  stack.use(gateway)
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
  })
  const owned = stack.move()
  return {
    port,
    managerPort,
    managerUrl,
    gateway,
    streams,
    outcomes,
    errors,
    dial,
    startAgent,
    /** Sockets accepted by any of the parts and still open, the parked ones aside. */
    sockets,
    connect: () => connectTo(port),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

export async function connectTo(port: number): Promise<Socket> {
  const socket = new Socket({ allowHalfOpen: true })
  socket.on('error', () => undefined)
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

/** Everything until the other end ends its direction. @throws the error of a reset */
export async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** A port where nothing listens. */
async function listenAndClose(): Promise<number> {
  const server = createServer()
  const port = await listen(server)
  server.close()
  await once(server, 'close')
  return port
}
