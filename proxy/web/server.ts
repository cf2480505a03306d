import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { AppError, ROUTES } from '#manager/contract'
import { createHttpServer } from '../http/create-server.ts'
import { listenOnLoopback } from '../listeners/loopback-listener.ts'
import { type Log } from '../log.ts'
import { answerProblem, answerProblemRaw } from './answers.ts'
import { type WebConfig } from './config.ts'
import { checkAddress, hostNames, type HostNames } from './guard.ts'
import { createGuests, type Guests } from './guests.ts'
import { createHostRoutes, credentialsOf } from './host-routes.ts'
import { createForward, type Forward, isManagerPath } from './manager-forward.ts'
import { createStaticFiles } from './static-files.ts'

export interface Web extends AsyncDisposable {
  /** What to open in a browser. */
  readonly url: string
  readonly port: number
}

/**
 * The console's web server: the page, `/host/*` for browsers, and the way to the manager, on one origin.
 *
 * Threat model: by default it listens on 127.0.0.1 and [::1], where every local program and, through a browser, every web
 * page can send requests; with BERTH_HOST also other computers (put TLS in front of it then). Addressing is checked before
 * anything else (`guard.ts`). The manager authenticates what is forwarded; `/host/*` is authenticated here by asking it
 * (`guests.ts`). It holds no secret of its own.
 */
export async function startWeb(config: WebConfig, log: Log): Promise<Web> {
  await using stack = new AsyncDisposableStack()
  const manager = createForward(config.managerUrl, 'manager', config.trustedProxies)
  stack.defer(manager.close)
  const page = config.consoleDevUrl === undefined ? undefined : createForward(config.consoleDevUrl, 'page')
  stack.defer(() => page?.close())
  const guests = stack.use(createGuests({ ...config, log }))
  let names: HostNames = new Set()
  const parts: Parts = {
    manager,
    page,
    guests,
    names: () => names,
    host: createHostRoutes({ ...config, guests, log }),
    files: createStaticFiles(config.consoleDir),
  }
  const sockets = new Set<Socket>()
  const onConnection = (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  const create = () => {
    const server = createHttpServer({ keepAliveTimeout: 65_000, noDelay: true, keepAlive: true })
    route(server, parts)
    return server
  }
  const { port } = config
  const listener = await (config.host === undefined
    ? listenOnLoopback({ port, onConnection, create })
    : listenOn(config.host, { port, onConnection, create }))
  stack.defer(() => listener.close())
  // Upgraded connections are no longer the HTTP server's to close.
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
  })
  names = hostNames(listener.port, config.allowedHosts)
  log.info({ port: listener.port, addresses: listener.addresses }, 'the console is served')
  const opened = stack.move()
  return {
    url: `http://localhost:${listener.port}`,
    port: listener.port,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

interface Parts {
  readonly manager: Forward
  /** A development server in place of the built files. */
  readonly page: Forward | undefined
  readonly guests: Guests
  readonly names: () => HostNames
  readonly host: ReturnType<typeof createHostRoutes>
  readonly files: ReturnType<typeof createStaticFiles>
}

function route(server: Server, { manager, page, guests, names, host, files }: Parts) {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const target = request.url ?? ''
    try {
      checkAddress(request, names(), 'request')
    } catch (error) {
      answerProblem(response, error)
      return
    }
    if (isManagerPath(target)) {
      if (request.method === ROUTES.logout.method && target.split('?', 1)[0] === ROUTES.logout.path) {
        response.once('finish', () => {
          if (response.statusCode < 300) void guests.signedOut(credentialsOf(request))
        })
      }
      manager.request(request, response)
    } else if (target.startsWith('/host/')) void host.handle(request, response)
    else if (page) page.request(request, response)
    else void files(request, response)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    try {
      checkAddress(request, names(), 'upgrade')
    } catch (error) {
      answerProblemRaw(socket, error)
      return
    }
    const forward = isManagerPath(request.url ?? '') ? manager : page
    if (forward) forward.upgrade(request, socket, head)
    else answerProblemRaw(socket, new AppError('not_found', { why: 'Nothing here can be upgraded.' }))
  })
}

async function listenOn(
  host: string,
  options: { port: number; onConnection: (socket: Socket) => void; create: () => Server },
) {
  const server = options.create()
  server.on('connection', options.onConnection)
  server.listen({ host, port: options.port })
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port')
  return {
    port: address.port,
    addresses: [address.address],
    close: () =>
      new Promise<void>(resolve => {
        server.close(() => {
          resolve()
        })
      }),
  }
}
