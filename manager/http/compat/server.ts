import { type IncomingMessage } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { hangUp } from '#base/hang-up'
import { createOpenCounts } from '#base/open-counts'
import { createUnprovenConnections } from '#base/unproven-connections'
import { AppError, because, isAppError } from '#manager/contract'
import { type Upgrades } from '../../agent-link/upgrades.ts'
import { type Log } from '../../log.ts'
import { type SecretBox } from '../../secrets/secret-box.ts'
import { newUuid } from '../../store/new-id.ts'
import { limitBodies } from '../body-deadlines.ts'
import { clientAddress, createOriginRules, type Forwarders, noteOrigin } from '../origin.ts'
import { rawProblem, toAppError } from '../problems.ts'
import { SECURITY_HEADERS } from '../security-headers.ts'
import { type HttpServer } from '../server.ts'
import { type Doors, type KnownSender, readSender, requireProtected, WEB_PREFIX } from './admit.ts'
import { NotOffered, sendOriginalProblem } from './errors.ts'
import { createOwnCalls, type OwnCalls, type Sender } from './own-calls.ts'
import { type CompatRoute } from './route.ts'
import { compatRoutes } from './routes/index.ts'
import { takeUpgrade } from './streams.ts'

export interface CompatServerDeps extends Forwarders, Doors {
  readonly host: string
  readonly port: number
  /** Names besides localhost under which clients reach this port. */
  readonly allowedHosts: readonly string[]
  readonly server: Pick<HttpServer, 'connect' | 'port'>
  /** Seals the tokens of up- and downloads. */
  readonly box: SecretBox
  readonly upgrades: Upgrades
  /** Milliseconds since 1970, by the clock of the database. */
  readonly now: () => number
  readonly descriptors: number
  readonly log: Log
}

export interface CompatServer extends AsyncDisposable {
  readonly port: number
}

const REQUEST_MS = 30_000
const STALLED_MS = 5 * 60_000
/** Requests of one person at a time, executions included; a launch waits for its session. */
const MOST_AT_ONCE = 32
const RETRY_AFTER_SECONDS = 2

/**
 * The adapter for clients of Backend.AI: answers their requests at a port of its own by calls of the API (ADR 104).
 *
 * Threat model: it listens only while a superadmin has switched it on. Before anything else runs: Host must be ours, Origin absent or
 * ours, and the sender known (`admit.ts`). Then the API decides about each call that a request leads to, as if the client had made it.
 * Bodies, queries of GraphQL and requests at a time are bounded; connections of those who prove nothing are few. Secrets of Berth are in no
 * answer: the secret keys of a list of keypairs are empty.
 *
 * @throws Error of the system if the port cannot be opened
 */
export async function startCompatServer(deps: CompatServerDeps): Promise<CompatServer> {
  const { log, server } = deps
  const app = fastify({
    http: { maxHeaderSize: 32 * 1024, headersTimeout: REQUEST_MS, connectionsCheckingInterval: 5_000 },
    requestTimeout: 0,
    connectionTimeout: STALLED_MS,
    keepAliveTimeout: 30_000,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: true },
    genReqId: () => newUuid(),
    return503OnClosing: true,
    frameworkErrors: (error, _request, reply) => void sendOriginalProblem(reply, toAppError(error)),
    clientErrorHandler: (_error, socket) => hangUp(socket, rawProblem(new AppError('bad_request'))),
  })
  const rules = createOriginRules({ port: () => portOf(app), allowed: deps.allowedHosts })
  const unproven = createUnprovenConnections<Socket>(Math.min(256, Math.floor(deps.descriptors / 16)))
  app.server.on('connection', (socket: Socket) => unproven.add(socket))
  const deadlines = limitBodies(app.server, REQUEST_MS, ({ socket }) => socket.destroy())
  const running = createOpenCounts()
  // Clients send JSON with GET as well.
  app.addHttpMethod('GET', { hasBody: true, overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, body, done) => done(null, body))
  app.addHook('onRequest', (request, reply, done) => {
    noteOrigin(request.raw, deps)
    void reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id })
    rules.check(request.headers)
    done()
  })
  app.setErrorHandler((error, request, reply) => {
    const known = error instanceof NotOffered ? error : toAppError(error)
    if (isAppError(known) && (known.code === 'internal' || known.code === 'unavailable'))
      log.error({ err: error, road: 'backend.ai', route: request.routeOptions.url }, 'request failed')
    return sendOriginalProblem(reply, known)
  })
  app.setNotFoundHandler((request, reply) => {
    requireProtected(request.raw)
    const path = request.url.split('?')[0] ?? '/'
    return sendOriginalProblem(
      reply,
      new NotOffered(`Berth has no counterpart of ${request.method} ${path.slice(0, 200)}.`),
    )
  })

  const callsFor = (request: IncomingMessage, sender: Sender, signal?: AbortSignal): OwnCalls =>
    createOwnCalls({ server, sender, address: clientAddress(request), now: deps.now, signal })

  function register(route: CompatRoute, prefix: string): void {
    app.route({
      method: route.method,
      url: prefix + route.path,
      exposeHeadRoute: false,
      handler: (request, reply) => answer(route, request, reply),
    })
  }

  async function answer(route: CompatRoute, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { sender, userId } = await senderOf(route, request.raw)
    using _turn = takeTurn(userId)
    const left = new AbortController()
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) left.abort()
    })
    if (sender.kind !== 'nobody') reply.raw.once('close', unproven.prove(request.raw.socket))
    const calls = callsFor(request.raw, sender, left.signal)
    const value = await route.handle({
      request,
      reply,
      sender,
      userId,
      calls,
      api: calls.api,
      lasting: () => callsFor(request.raw, sender).api,
      params: request.params as Record<string, string>,
      signal: left.signal,
      now: deps.now,
      liftDeadline: () => {
        deadlines.lift(request.raw)
        reply.raw.once('finish', () => deadlines.restore(request.raw))
      },
    })
    if (reply.sent) return await reply
    if (value !== undefined) return await reply.type('application/json; charset=utf-8').send(JSON.stringify(value))
    return await reply.code(204).send()
  }

  async function senderOf(route: CompatRoute, request: IncomingMessage): Promise<KnownSender> {
    if (route.open !== true) return readSender(deps, request)
    requireProtected(request)
    return { sender: { kind: 'nobody' }, userId: '' }
  }

  /** @throws AppError `rate_limited` */
  function takeTurn(userId: string): Disposable {
    if (userId === '') return { [Symbol.dispose]: () => undefined }
    const leave = running.take(userId, MOST_AT_ONCE)
    if (leave) return { [Symbol.dispose]: leave }
    throw new AppError('rate_limited', { ...because('calls_waiting'), retryAfterSeconds: RETRY_AFTER_SECONDS })
  }

  for (const route of compatRoutes({ box: deps.box })) for (const prefix of ['', WEB_PREFIX]) register(route, prefix)

  app.server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', error => log.debug({ err: error }, 'upgraded socket failed'))
    void (async () => {
      try {
        noteOrigin(request, deps)
        rules.check(request.headers)
        const { sender, userId } = await readSender(deps, request)
        const calls = callsFor(request, sender)
        const { upgrades, now } = deps
        const turn = () => takeTurn(userId)
        await takeUpgrade({ request, socket, head, sender, calls, upgrades, takeTurn: turn, now, log })
        unproven.keep(request.socket)
      } catch (error) {
        const known = toAppError(error)
        if (known.code === 'internal') log.error({ err: error, road: 'backend.ai' }, 'upgrade failed')
        hangUp(socket, rawProblem(known))
      }
    })()
  })

  await app.listen({ host: deps.host, port: deps.port })
  return {
    port: portOf(app),
    async [Symbol.asyncDispose]() {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

function portOf(app: FastifyInstance): number {
  const address = app.server.address()
  return address !== null && typeof address === 'object' ? address.port : 0
}
