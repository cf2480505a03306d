import { type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createNetServer, type Server, type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import { AppError, type AppsAddress, ROUTES } from '#manager/contract'
import { type AppsState, type ProxyFault } from '#proxy/contract'
import { containedBy } from '../http/contain.ts'
import { createDirectPath } from '../dial/direct-path.ts'
import { createHttpServer, type HttpServerOptions } from '../http/create-server.ts'
import { isPipelined } from '../http/pipeline.ts'
import { createHeldListener } from '../listeners/held-listener.ts'
import { listenAt, withLoopback } from '../listeners/loopback-listener.ts'
import { type Log } from '../log.ts'
import { answerProblem, answerProblemRaw } from './answers.ts'
import { type WebConfig } from './config.ts'
import { checkAddress, hostNames, type HostNames, isServed } from './guard.ts'
import { type ConnectionBudget, createConnectionBudget } from './connection-budget.ts'
import { createGuests, type Guests } from './guests.ts'
import { createHostRoutes, credentialsOf } from './host-routes.ts'
import { environmentNetwork } from '../network/environment-network.ts'
import { createForward, type Forward, isManagerPath, isTunnel } from './manager-forward.ts'
import { longHead, PARSED_HEADER_BYTES } from './long-heads.ts'
import { refuseRaw, sendPage } from './public-apps/public-app.ts'
import { createProgramApps, type ProgramApps } from './program-apps/program-apps.ts'
import { isProgramPath } from './program-apps/program-request.ts'
import { createPublicApps, type PublicApps, type PublicAppsDeps } from './public-apps/public-apps.ts'
import { listenAtPorts } from './public-apps/listen-at-ports.ts'
import { reportRegularly } from './report-regularly.ts'
import { proposeAddress } from './public-apps/propose-address.ts'
import { watchAddress } from './public-apps/watch-address.ts'
import { endServiceWorker } from './service-workers.ts'
import { createStaticFiles } from './static-files.ts'
import { type CertificateKeeper } from './tls/keeper.ts'
import { reportCertificate } from './tls/report.ts'
import { openWebTls, type WebTls } from './tls/web-tls.ts'
import { createLocalCodes } from './local-codes.ts'
import { openLocalSockets } from './local-socket.ts'
import { openThisComputer } from './this-computer.ts'
import { answerUnreadRequests } from './unread-requests.ts'
import { type ProxyWatch, watchProxies } from './wrong-proxy.ts'

export interface Web extends AsyncDisposable {
  /** URL to open in a browser. */
  readonly url: string
  readonly port: number
  /** Takes a connection that the parent process accepted at the console's port; only if the parent holds that port. */
  take(socket: Socket): void
  /** Creates a code for a link that proves that a browser runs on this computer. */
  createLocalCode(): string
  /** Faults of the reverse proxy in front, as seen in requests. */
  proxyFaults(): readonly ProxyFault[]
  /** The address of apps, and whether it leads to this console. */
  apps(): AppsState
  /** The certificate of TLS; undefined without TLS. */
  readonly certificate: CertificateKeeper | undefined
}

/** Deadlines and intervals, for tests that cannot wait for the real ones. */
export type Limits = Pick<HttpServerOptions, 'headersTimeout' | 'connectionsCheckingInterval' | 'timeout'> & {
  /** Interval between two looks at the certificate. */
  readonly certificateEveryMs?: number
  /** Interval between two tries to listen at a port of apps that another program has. */
  readonly appPortsEveryMs?: number
}

/**
 * Limit for a client that reads nothing of its answer. Event streams, and calls that wait for the manager, send heartbeats more
 * often.
 */
const STALLED_MS = 5 * 60_000

/**
 * The console's web server: the page, `/host/*` for browsers, and the route to the manager, on one origin.
 *
 * Threat model: by default it listens on 127.0.0.1 and [::1], where every local program and, through a browser, every web page
 * can send requests; with BERTH_HOST in addition other computers, by TLS (`tls/`) or a reverse proxy. Addressing is checked before anything
 * else (`guard.ts`). The manager authenticates forwarded requests; `/host/*` is authenticated here by asking the manager
 * (`guests.ts`). The server's one secret proves to the manager that its reports about clients are true; it is sent to the
 * manager only.
 */
export async function startWeb(
  config: WebConfig,
  log: Log,
  { certificateEveryMs, appPortsEveryMs, ...limits }: Limits = {},
): Promise<Web> {
  const codes = createLocalCodes()
  const { dataDir, localProof: policy = 'required' } = config
  const thisComputer = await openThisComputer({ dataDir, policy, codes })
  await using stack = new AsyncDisposableStack()
  const tls = config.tls && stack.use(await openWebTls(config.tls, { ...config, log, everyMs: certificateEveryMs }))
  const agent = await (await environmentNetwork())?.agentFor(new URL(config.managerUrl))
  const manager = createForward(config.managerUrl, 'manager', { ...config, agent, log })
  stack.defer(manager.close)
  const page = config.consoleDevUrl === undefined ? undefined : createForward(config.consoleDevUrl, 'page', { log })
  stack.defer(() => page?.close())
  const direct = config.directKey === undefined ? undefined : createDirectPath(config.directKey)
  let address = ''
  const guests = stack.use(createGuests({ ...config, address: () => address, direct, log }))
  const publicApps = publicAppsOf(config, { direct, log })
  stack.defer(() => publicApps?.[Symbol.dispose]())
  const programApps = stack.use(createProgramApps({ ...config, direct, log }))
  const proposal = proposeAddress({ ...config, hasTls: tls !== undefined })
  const appsAddress = watchAddress(publicApps && config.appsAddress, { log, proposal })
  const proxies = watchProxies(config.trustedProxies ?? [], log)
  let names: HostNames = new Set()
  let localCommandPort: number | undefined
  const parts: Parts = {
    manager,
    page,
    publicApps,
    programApps,
    guests,
    names: () => names,
    log,
    host: createHostRoutes({
      ...config,
      guests,
      thisComputer,
      proxyFaults: () => proxies.faults(),
      opensApps: publicApps !== undefined,
      apps: () => appsAddress.state(),
      localCommandPort: () => localCommandPort,
      log,
    }),
    files: createStaticFiles(config.consoleDir, log),
    proxies,
  }
  const sockets = new Set<Socket>()
  const budget = stack.use(createConnectionBudget())
  const onConnection = (socket: Socket) => {
    sockets.add(socket)
    budget.connect(socket)
    socket.once('close', () => sockets.delete(socket))
  }
  const create = (listeners: Listeners) => () =>
    createServerOf(tls, {
      ...countedBy(budget, listeners),
      maxHeaderSize: PARSED_HEADER_BYTES,
      keepAliveTimeout: 65_000,
      noDelay: true,
      timeout: STALLED_MS,
      ...limits,
      log,
    })
  const consoleHosts = withLoopback(config.host)
  // The ports of apps, and the one that redirects, are reached by a name of the console, not by `localhost`, where other programs may have
  // them.
  const otherHosts = config.host === undefined ? consoleHosts : [config.host]
  const listenWith = (hosts: readonly string[], port: number, createServer: () => Server) =>
    listenAt(hosts, { port, onConnection, create: createServer })
  const held = config.isPortHeld ? createHeldListener(config.port, onConnection, create(listenersOf(parts))) : undefined
  const listener = held ?? (await listenWith(consoleHosts, config.port, create(listenersOf(parts))))
  stack.defer(() => listener.close())
  address = tls?.urlOf(listener.port) ?? `http://localhost:${listener.port}`
  const { httpPort } = config.tls ?? {}
  if (tls && httpPort !== undefined) {
    const redirects = await listenWith(otherHosts, httpPort, () => tls.createRedirects(listener.port))
    stack.defer(() => redirects.close())
  }
  const { managerUrl, consoleSecret } = config
  const reporterDeps = consoleSecret === undefined ? undefined : { managerUrl, consoleSecret, port: listener.port, log }
  if (publicApps && reporterDeps && config.appsAddress?.kind === 'ports') {
    const ports = await listenAtPorts({
      ports: portsOf(config.appsAddress),
      listen: port => listenWith(otherHosts, port, create(listenersAt(publicApps, String(port)))),
      probe: port => listenWith(otherHosts, port, () => createNetServer()),
      onChange: () => reporter.report(),
      log,
      retryMs: appPortsEveryMs,
    })
    stack.use(ports)
    const reporter = reportRegularly(reporterDeps, 'ports of apps', (api, params, signal) =>
      api.reportAppPorts({ params, body: { closed: [...ports.closed()] }, signal }),
    )
    stack.use(reporter)
  }
  // The HTTP server no longer closes connections that were upgraded.
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
  })
  names = hostNames(listener.port, config.allowedHosts)
  if (policy === 'required') {
    const { runtimeDirectory } = config
    const localSockets = await openLocalSockets({ port: listener.port, codes, log, runtimeDirectory })
    if (localSockets) {
      stack.use(localSockets)
      localCommandPort = listener.port
    }
  }
  // From now on an authority can fetch a proof from here, so a first certificate is ordered.
  void tls?.certificate.checkNow()
  if (tls && reporterDeps) stack.use(reportCertificate(tls.certificate, reporterDeps))
  void appsAddress.check()
  log.info({ port: listener.port, addresses: listener.addresses }, 'the console is served')
  const opened = stack.move()
  return {
    url: address,
    port: listener.port,
    take: socket => held?.take(socket),
    createLocalCode: () => thisComputer.createCode(),
    proxyFaults: () => proxies.faults(),
    apps: () => appsAddress.state(),
    certificate: tls?.certificate,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

function createServerOf(tls: WebTls | undefined, options: HttpServerOptions): Server {
  if (tls) return tls.createServer(options)
  const server = createHttpServer(options)
  answerUnreadRequests(server)
  return server
}

type Listeners = Pick<HttpServerOptions, 'onRequest' | 'onUpgrade' | 'hasTunnels'>

function countedBy(budget: ConnectionBudget, { onRequest, onUpgrade, ...more }: Listeners): Listeners {
  return {
    ...more,
    onRequest(request, response) {
      budget.request(request, response)
      return onRequest(request, response)
    },
    onUpgrade(request, socket, head) {
      budget.upgrade(request, socket)
      return onUpgrade?.(request, socket, head)
    },
  }
}

/** Apps at their own address need the secret by which the manager recognises this process. */
function publicAppsOf(config: WebConfig, shared: Pick<PublicAppsDeps, 'direct' | 'log'>) {
  const { appsAddress: address, managerUrl, consoleSecret, trustedProxies } = config
  if (!address) return undefined
  if (consoleSecret !== undefined)
    return createPublicApps({ ...shared, address, managerUrl, consoleSecret, trustedProxies })
  shared.log.warn({}, 'apps are not served at their address: set BERTH_CONSOLE_SECRET_FILE for console and manager')
  return undefined
}

function portsOf(address: Extract<AppsAddress, { kind: 'ports' }>): number[] {
  return Array.from({ length: address.last - address.first + 1 }, (_, index) => address.first + index)
}

function listenersAt(publicApps: PublicApps, place: string): Listeners {
  return refusingLongHeads(
    {
      onRequest: (request, response) => publicApps.request(place, request, response),
      onUpgrade: (request, socket, head) => publicApps.upgrade(place, request, socket, head),
    },
    () => false,
  )
}

function refusingLongHeads(
  { onRequest, onUpgrade, ...more }: Listeners,
  isForConsole: (request: IncomingMessage) => boolean,
): Listeners {
  return {
    ...more,
    onRequest(request, response) {
      const refusal = longHead(request, isForConsole(request))
      if (!refusal) return onRequest(request, response)
      // On a pipelined connection the refusal, and the long head in memory, would wait for the answers before it.
      if (isPipelined(request.socket)) {
        request.socket.destroy()
        return
      }
      request.resume()
      sendPage(response, refusal)
    },
    onUpgrade(request, socket, head) {
      const refusal = longHead(request, false)
      if (!refusal) return onUpgrade?.(request, socket, head)
      refuseRaw(socket, refusal)
    },
  }
}

interface Parts {
  readonly manager: Forward
  /** A development server in place of the built files. */
  readonly page: Forward | undefined
  readonly publicApps: PublicApps | undefined
  readonly programApps: ProgramApps
  readonly guests: Guests
  readonly names: () => HostNames
  readonly log: Log
  readonly host: ReturnType<typeof createHostRoutes>
  readonly files: ReturnType<typeof createStaticFiles>
  readonly proxies: ProxyWatch
}

/** Addresses for programs, which must not get the page: a scrape or a health check would mistake its 200 for success. */
const OF_SERVERS = /^\/(api|apps|stream|agent|host|manager|metrics|healthz|readyz)/

function listenersOf({ manager, page, publicApps, programApps, guests, names, log, host, files, proxies }: Parts) {
  function onRequest(request: IncomingMessage, response: ServerResponse) {
    const target = request.url ?? ''
    // Check this first: a request for a published app must reach nothing else.
    const place = publicApps?.placeOf(request.headers.host)
    if (place !== undefined) return publicApps?.request(place, request, response)
    try {
      proxies.inspect(request, isServed(request, names()))
      checkAddress(request, names(), 'request')
    } catch (error) {
      answerProblem(response, error)
      return
    }
    if (isProgramPath(target)) return programApps.request(request, response)
    if (endServiceWorker(request, response)) return
    if (isManagerPath(target)) {
      if (request.method === ROUTES.logout.method && target.split('?', 1)[0] === ROUTES.logout.path) {
        const contained = containedBy(response, log)
        response.once(
          'finish',
          contained(async () => {
            if (response.statusCode < 300) await guests.signedOut(credentialsOf(request))
          }),
        )
      }
      manager.request(request, response)
      return
    }
    if (target.startsWith('/host/')) return host.handle(request, response)
    if (page) page.request(request, response)
    else if (OF_SERVERS.test(target)) {
      answerProblem(response, new AppError('not_found', { why: 'This address does not exist in the console.' }))
    } else return files(request, response)
  }

  function onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    const place = publicApps?.placeOf(request.headers.host)
    if (place !== undefined) return publicApps?.upgrade(place, request, socket, head)
    try {
      checkAddress(request, names(), 'upgrade')
    } catch (error) {
      answerProblemRaw(socket, error)
      return
    }
    if (isProgramPath(request.url ?? '')) return programApps.upgrade(request, socket, head)
    const forward = isManagerPath(request.url ?? '') ? manager : (page ?? manager)
    forward.upgrade(request, socket, head)
  }

  function hasTunnels({ url = '', headers }: IncomingMessage): boolean {
    if (publicApps?.placeOf(headers.host) !== undefined || isProgramPath(url)) return true
    return isManagerPath(url) ? isTunnel(url) : page !== undefined
  }

  return refusingLongHeads(
    { onRequest, onUpgrade, hasTunnels },
    ({ headers }) => publicApps?.placeOf(headers.host) === undefined,
  )
}
