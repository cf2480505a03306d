import { type IncomingMessage, type Server } from 'node:http'
import { type Socket } from 'node:net'
import { type Duplex } from 'node:stream'
import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
  validatorCompiler,
} from 'fastify-type-provider-zod'
import {
  type Access,
  AppError,
  because,
  type ManagerWarning,
  ORIGIN_SECRET_HEADER,
  ROUTES,
  type RouteSpec,
  type TokenScope,
  sayFormErrorsPlainly,
} from '#manager/contract'
import { hangUp } from '#base/hang-up'
import { parserFault } from '#base/parser-fault'
import { type AuditRecorder } from '../audit/recorder.ts'
import { recordRequests } from './record-requests.ts'
import { type EventBus } from '../events/bus.ts'
import { type HeavyWork } from '../files/heavy-work.ts'
import { createTurns } from '#base/turns'
import { type FileWatches } from '../files/watches.ts'
import { type Log } from '../log.ts'
import { type Metrics } from '../metrics.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { newUuid } from '../store/new-id.ts'
import { type Db } from '../store/schema.ts'
import { hasUnstorableText, UNSTORABLE_TEXT } from '../store/storable-text.ts'
import { type Logins } from '../users/logins.ts'
import { type Signers } from '../users/signers.ts'
import { admitRequests } from './admission.ts'
import { adopt, type Adopted } from './adopted.ts'
import { limitBodies } from './body-deadlines.ts'
import { type Handlers } from './handlers.ts'
import { createIdempotency } from './idempotency.ts'
import { hasManyJsonParts, JSON_PARTS } from './json-parts.ts'
import { overrideMethod } from './method-override.ts'
import { createOwnConnection } from './own-connection.ts'
import { type Forwarders, noteOrigin, type OriginRules } from './origin.ts'
import { createErrorHandler, rawProblem, sendProblem, toAppError } from './problems.ts'
import { senderOf } from './sender.ts'
import { registerContractRoutes } from './routes/contract-routes.ts'
import { registerEventRoute } from './routes/events.ts'
import { registerMcpRoute } from './routes/mcp.ts'
import { registerOperationsRoutes } from './routes/operations.ts'
import { registerSsoCallback } from './routes/sign-in-providers.ts'
import { registerScimRoutes, type ScimEndpoint } from './routes/scim.ts'
import { type SsoAttempts } from '../sso/attempts.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { createSerializerCompiler } from './serializer.ts'
import { version } from '../version.ts'
import { type UpgradeHandler, type Upgrades } from '../agent-link/upgrades.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    byPerson?: true
    /** Scope that an access token needs; without it, tokens are refused. */
    scope?: TokenScope
    /** Content type of the body that the route reads as a stream. */
    streamedBody?: string
    /** Most members, objects and lists of a body, if not the usual number. */
    jsonParts?: number
  }
}

export interface HttpServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, whatever address it listens on. */
  readonly url: string
  readonly port: number
  /** Takes over a connection to our port that another process has accepted. */
  take(socket: Socket): void
  /**
   * Opens a connection inside this process, for one request of a client that another part of this process has admitted.
   * @param address of the client
   */
  connect(address: string, facts: Adopted): Duplex
}

export interface HttpServerDeps extends Forwarders {
  readonly host: string
  /** 0 = any free port. */
  readonly port: number
  /** True: another process listens at the port and passes its connections on. */
  readonly isPortHeld?: boolean
  readonly rules: OriginRules
  readonly metricsToken?: string | undefined
  readonly handlers: Handlers
  /** Handles browsers that come back from a sign-in provider. */
  readonly sso: Pick<SsoAttempts, 'callback'>
  /** Accounts and projects for identity providers. */
  readonly scim: Omit<ScimEndpoint, 'log'>
  readonly upgrades: Upgrades
  readonly logins: Logins
  readonly signers: Signers
  readonly audit: AuditRecorder
  readonly db: Db
  /** Seals stored answers for requests with an idempotency key. */
  readonly box: SecretBox
  readonly bus: EventBus
  readonly fileWatches: FileWatches
  readonly heavyWork: Pick<HeavyWork, 'give'>
  readonly metrics: Metrics
  /** How many this process may open. */
  readonly descriptors: number
  /** Problems of the managers on this database. */
  readonly warnings: () => readonly ManagerWarning[]
  /** Resolves if the database accepts writes. */
  readonly check: () => Promise<void>
  readonly log: Log
}

const BODY_LIMIT = 1024 * 1024
/** Enough for as many cookies of our name as a browser stores for one host (180 in Chromium and Firefox), including planted ones. */
const MAX_HEADER_BYTES = 32 * 1024
/** Deadline for the head of a request, and separately for its body; replies may take longer. */
const REQUEST_MS = 30_000
/** A connection without traffic for this long is closed, so that a client that does not read cannot keep an answer in memory for longer. */
const STALLED_MS = 5 * 60_000
/**
 * The manager's HTTP server.
 *
 * Threat model: it binds 127.0.0.1 unless configured otherwise, and may face a network then. Before a handler runs: Host
 * must be ours (DNS rebinding), Origin absent or ours (other sites' pages), the caller known and allowed (`access` of the
 * route; a route without one is refused) when the head has arrived and when the body has, the body small, of the right form, and, if
 * the request is signed, the body that was signed. Cookies, tokens and signatures are never logged. If listening fails, nothing was opened.
 * Every user of the computer reaches the port: connections of those who prove nothing are few (`#base/unproven-connections`), and reset
 * if their peer does not end them (`#base/hang-up`). Those of consoles and agents stay. Requests without a sign-in are answered one in each
 * round of the event loop, in turns between networks, so that those of people come in between.
 */
export async function startHttpServer(deps: HttpServerDeps): Promise<HttpServer> {
  const { log, upgrades, logins, signers, metrics, rules } = deps
  sayFormErrorsPlainly()
  const app = fastify({
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: REQUEST_MS,
      connectionsCheckingInterval: 5_000,
      // Other upgrades (for example `Upgrade: h2c` of Java clients) are answered as plain requests. RFC 9110 section 7.8
      shouldUpgradeCallback: request => handlerOf(upgrades, request) !== undefined,
    },
    bodyLimit: BODY_LIMIT,
    // Bodies have deadlines of their own (`body-deadlines.ts`).
    requestTimeout: 0,
    connectionTimeout: STALLED_MS,
    keepAliveTimeout: 30_000,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 256 },
    genReqId: () => newUuid(),
    rewriteUrl: request => overrideMethod(request).url ?? '/',
    return503OnClosing: true,
    frameworkErrors: (error, _request, reply) => void sendProblem(reply.headers(SECURITY_HEADERS), toAppError(error)),
    clientErrorHandler: (error, socket) => refuse(socket, parserError(error)),
  })
  const handleError = createErrorHandler(log)
  app.setErrorHandler(handleError)
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(createSerializerCompiler(log))
  acceptJson(app)
  acceptStreams(app)
  const bodyDeadlines = limitBodies(app.server, REQUEST_MS, ({ socket }, response) => {
    if (response.headersSent) socket.destroy()
    else refuse(socket, new AppError('bad_request', { why: TOO_SLOW }))
  })
  const methodsOf = collectMethods(app)
  app.setNotFoundHandler((request, reply) => {
    const allow = methodsOf(request)
    if (allow.length === 0) return sendProblem(reply, new AppError('not_found', because('nothing_here')))
    void reply.header('allow', allow.join(', '))
    return sendProblem(reply, new AppError('method_not_allowed', { why: `Supported methods: ${allow.join(', ')}.` }))
  })

  const admission = admitRequests(app, deps)
  app.server.on('timeout', (socket: Socket) => hangUp(socket))
  recordRequests(app, { audit: deps.audit, db: deps.db, log })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    metrics.observeHttp({ method: request.method, route, status: reply.statusCode, seconds: reply.elapsedTime / 1000 })
    done()
  })

  const zodToJsonConfig = { unrepresentable: 'any', io: 'input' } as const
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Berth manager', version: '1', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: '/', description: 'The address at which this description was read.' }],
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          // Clients that were made of the description take the name as it is: it has to be a legal one.
          cookie: { type: 'apiKey', in: 'cookie', name: 'berth_PORT' },
          originSecret: { type: 'apiKey', in: 'header', name: ORIGIN_SECRET_HEADER },
          // Generators know no scheme of HTTP but `basic` and `bearer`.
          signature: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'Berth-HMAC-SHA256 …' },
        },
      },
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject: createJsonSchemaTransformObject({ zodToJsonConfig }),
  })
  app.after(() => {
    registerContractRoutes(app, {
      handlers: deps.handlers,
      once: createIdempotency({ db: deps.db, box: deps.box, log }),
      bodyDeadlines,
      largeAnswers: admission.largeAnswers,
    })
    registerSsoCallback(app, deps.sso)
    registerScimRoutes(app, { ...deps.scim, log })
    registerMcpRoute(app, version)
    registerEventRoute(app, { bus: deps.bus, fileWatches: deps.fileWatches, logins, signers, db: deps.db })
    registerOperationsRoutes(app, {
      metrics,
      authenticators: { logins, signers },
      check: deps.check,
      warnings: deps.warnings,
      metricsToken: deps.metricsToken,
    })
  })

  app.server.on('upgrade', (request, socket, head) => {
    logErrors(socket, log)
    // From here on Node applies no limit to the connection: an earlier answer that is not read would be kept for ever.
    if (admission.unanswered(request.socket) > 0) {
      socket.destroy()
      return
    }
    void (async () => {
      try {
        noteOrigin(request, deps)
        rules.check(request.headers)
        const url = urlOf(request)
        const handler = handlerOf(upgrades, request)
        if (!url || !handler)
          throw new AppError('not_found', { why: 'This address does not accept WebSocket connections.' })
        await handler(request, socket, head, url)
        admission.keep(request.socket)
      } catch (error) {
        const known = toAppError(error)
        if (known.code === 'internal') log.error({ err: error, path: request.url?.split('?')[0] }, 'upgrade failed')
        refuse(socket, known)
      }
    })()
  })

  if (deps.isPortHeld) {
    await app.ready()
    // On this event Node starts to check the deadlines of connections.
    app.server.emit('listening')
  } else await app.listen({ host: deps.host, port: deps.port })
  const port = deps.isPortHeld ? deps.port : portOf(app.server)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    take(socket) {
      // Same as for connections that Node's HTTP servers accept.
      socket.allowHalfOpen = true
      app.server.emit('connection', socket)
    },
    connect(address, facts) {
      const { client, server } = createOwnConnection(address)
      adopt(server, facts)
      app.server.emit('connection', server)
      admission.keep(server as Socket)
      return client
    },
    async [Symbol.asyncDispose]() {
      // For a listening server, Fastify does this.
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

/** Not inlined: a listener created in the handler would keep the request in memory for as long as the socket lives. */
function logErrors(socket: Duplex, log: Log): void {
  socket.on('error', error => log.debug({ err: error }, 'upgraded socket failed'))
}

function urlOf({ url = '/' }: IncomingMessage): URL | undefined {
  return URL.parse(url, 'http://manager') ?? undefined
}

function handlerOf(upgrades: Upgrades, request: IncomingMessage): UpgradeHandler | undefined {
  const url = urlOf(request)
  return url && upgrades.find(url)
}

/**
 * Characters of a body from which people take turns; strangers do so with any. Most requests have less than a tenth of it. To parse and
 * check a large one takes some milliseconds, in which nobody else is served, and a person may send 256 at once over as many connections.
 */
const LARGE_BODY = 16 * 1024

function acceptJson(app: FastifyInstance): void {
  const turns = createTurns(setImmediate)
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  // SCIM has a type of its own (RFC 7644, section 3.1).
  app.addContentTypeParser(
    ['application/json', 'application/scim+json'],
    { parseAs: 'string' },
    (request, body, done) => {
      // Some clients send the type without a body.
      if (body === '') {
        done(null, undefined)
        return
      }
      const json = body.toString()
      const read = () => {
        const { access, jsonParts = access === 'none' ? JSON_PARTS.stranger : JSON_PARTS.usual } =
          request.routeOptions.config
        if (hasManyJsonParts(json, jsonParts)) {
          done(new AppError('bad_request', because('many_json_parts', { limit: jsonParts })))
          return
        }
        void parse(request, json, (error, value: unknown) => {
          const refused = error === null && hasUnstorableText(json)
          done(refused ? new AppError('bad_request', { why: UNSTORABLE_TEXT }) : error, value)
        })
      }
      const { credentials } = request
      if (credentials && json.length < LARGE_BODY) read()
      else turns.run(senderOf(request), read).catch((error: unknown) => done(error as Error))
    },
  )
}

/** Passes a body to the handler as a stream. */
function acceptStreams(app: FastifyInstance): void {
  const types = new Set(Object.values<RouteSpec>(ROUTES).flatMap(({ streamedBody }) => streamedBody ?? []))
  app.addContentTypeParser([...types], (request, body, done) => {
    const isWanted = request.routeOptions.config.streamedBody === request.headers['content-type']
    done(isWanted ? null : new AppError('bad_request', { why: 'This address takes no body of this type.' }), body)
  })
}

/** Methods per path, to distinguish a wrong method (405) from a wrong address (404). Call it before routes are added. */
function collectMethods(app: FastifyInstance): (request: FastifyRequest) => string[] {
  const routes: { pattern: RegExp; methods: string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ pattern: new RegExp(`^${url.replace(/:\w+/g, '[^/]+')}$`), methods: [method].flat() })
  })
  return request => {
    const path = request.url.split('?')[0] ?? '/'
    return [...new Set(routes.filter(route => route.pattern.test(path)).flatMap(route => route.methods))]
  }
}

const TOO_SLOW = 'The request took too long.'

function parserError(error: { code?: string }): AppError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return new AppError('bad_request', { why: 'The headers are too large.' })
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new AppError('bad_request', { why: TOO_SLOW })
  return new AppError('bad_request', { why: parserFault(error.code) })
}

function refuse(socket: Duplex, error: AppError): void {
  if (socket.writable) hangUp(socket, rawProblem(error))
  else socket.destroy()
}

function portOf(server: Server): number {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server does not listen on a port')
  return address.port
}
