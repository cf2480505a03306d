import { type IncomingMessage } from 'node:http'
import { type Socket } from 'node:net'
import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { createRequestTurns } from '#base/request-turns'
import { createUnprovenConnections } from '#base/unproven-connections'
import { AppError, isAppError, type ROUTES } from '#manager/contract'
import { type HeavyWork } from '../files/heavy-work.ts'
import { createTurns } from '#base/turns'
import { authorizeRoute } from '../users/authorize.ts'
import { RATE_WINDOW_SECONDS } from '../users/rate-limits.ts'
import { createCallLimiter } from './call-limiter.ts'
import { type Authenticators, type Credentials, readCredentials, readCredentialsAgain } from './credentials.ts'
import { createLargeAnswers, type LargeAnswers } from './large-answers.ts'
import { type Forwarders, noteOrigin, type OriginRules } from './origin.ts'
import { SECURITY_HEADERS } from './security-headers.ts'
import { senderOf } from './sender.ts'
import { checkedBody } from './signatures/check-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Credentials of the sender; null if nobody is signed in, which only access `none` lets through. */
    credentials: Credentials | null
    /** Whether the body was incomplete when the head was authenticated. */
    isBodyLate: boolean
  }
}

export interface AdmissionDeps extends Forwarders, Authenticators {
  readonly rules: OriginRules
  readonly heavyWork: Pick<HeavyWork, 'give'>
  /** How many this process may open. */
  readonly descriptors: number
}

export interface Admission {
  readonly largeAnswers: LargeAnswers
  /** Requests of a connection whose answers have not been sent. */
  unanswered(socket: Socket): number
  /** The connection stays, however many come on which nobody proves anything. */
  keep(socket: Socket): void
}

/** Routes with long-lasting answers, which yield to other routes. */
const LASTING: ReadonlySet<string> = new Set<keyof typeof ROUTES>([
  'readFile',
  'archiveFiles',
  'downloadByTicket',
  'readBundle',
  'readChecksums',
  'readHostBundle',
])
/** Connections on which nobody has proved who they are, of a process with so many descriptors. Sign-ins and refused calls take one for a moment. */
const mostUnproven = (descriptors: number) => Math.min(1_024, Math.floor(descriptors / 8))

/** Adds the hooks that decide which requests reach a handler, and when. The threat model is that of `server.ts`. */
export function admitRequests(app: FastifyInstance, deps: AdmissionDeps): Admission {
  const { rules, heavyWork, descriptors, logins, signers } = deps
  app.decorateRequest('credentials', null)
  app.decorateRequest('isBodyLate', false)
  const unproven = createUnprovenConnections<Socket>(mostUnproven(descriptors))
  app.server.on('connection', (socket: Socket) => unproven.add(socket))
  const turns = createRequestTurns<IncomingMessage>()
  const callLimiter = createCallLimiter()
  const largeAnswers = createLargeAnswers()
  app.addHook('onRequest', (request, reply, done) => turns.enter(request.raw, reply.raw, done))
  app.addHook('onRequest', (request, _reply, done) => {
    const { route, streamedBody } = request.routeOptions.config
    if (route !== undefined && streamedBody === undefined && !LASTING.has(route)) {
      const given = heavyWork.give()
      turns.onOver(request.raw, () => given[Symbol.dispose]())
    }
    done()
  })
  const turnsOfStrangers = createTurns(setImmediate)
  app.addHook('onRequest', async (request, reply) => {
    const { isConsole } = noteOrigin(request.raw, deps)
    if (isConsole) unproven.keep(request.raw.socket)
    void reply.headers({ ...SECURITY_HEADERS, ...UNLIMITED, 'x-request-id': request.id })
    // The console forwards no request of a client to these addresses.
    const isOfConsole = isConsole && request.routeOptions.config.access === 'console'
    try {
      rules.check(request.headers)
      if (!isOfConsole) await admit(request, reply)
    } finally {
      // Refusals included: a thousand at once would keep everybody else waiting for a second.
      if (!request.credentials && !isOfConsole) await turnsOfStrangers.run(senderOf(request), () => undefined)
    }
  })
  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (request.is404) return
    const { access, byPerson, scope } = request.routeOptions.config
    if (access === undefined) throw new AppError('forbidden')
    if (access === 'none') return
    request.credentials =
      (await readCredentials({ logins, signers }, request.raw).catch((error: unknown) => {
        if (isAppError(error) && error.code === 'rate_limited')
          void reply.headers(rateHeaders(Number(error.detail.limit), 0))
        throw error
      })) ?? null
    const rate = request.credentials?.signed?.rate
    if (rate) void reply.headers(rateHeaders(rate.limit, rate.remaining))
    authorizeRoute({ access, byPerson, scope }, request.credentials?.caller ?? null)
    request.isBodyLate = !request.raw.complete
    const { route, streamedBody } = request.routeOptions.config
    if (request.credentials) turns.onOver(request.raw, unproven.prove(request.raw.socket))
    if (!request.credentials || route === undefined) return
    const { userId } = request.credentials.caller
    turns.onOver(request.raw, callLimiter.take(userId, { route, isUpload: streamedBody !== undefined }))
  }
  // A client may hold its body back until its rights have ended: what the handler does is decided by those of now. A route that reads a
  // stream asks by itself, while the body arrives.
  app.addHook('preValidation', async request => {
    const { access, byPerson, scope, streamedBody } = request.routeOptions.config
    if (!request.credentials || !request.isBodyLate || access === undefined || streamedBody !== undefined) return
    request.credentials = await readCredentialsAgain({ logins, signers }, request.raw, request.credentials)
    authorizeRoute({ access, byPerson, scope }, request.credentials.caller)
  })
  app.addHook('preParsing', (request, _reply, body, done) => {
    const signed = request.credentials?.signed
    done(null, signed ? checkedBody(body, signed.bodyHash) : body)
  })
  app.addHook('onSend', (request, _reply, payload, done) => {
    if (request.credentials && typeof payload === 'string')
      turns.onOver(request.raw, largeAnswers.hold(request.credentials.caller.userId, payload.length))
    done(null, payload)
  })
  return {
    largeAnswers,
    unanswered: socket => turns.unanswered(socket),
    keep: socket => unproven.keep(socket),
  }
}

const rateHeaders = (limit: number, remaining: number) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-window': String(RATE_WINDOW_SECONDS),
})
/** Rate headers of a reply without a keypair, as in the original system (Backend.AI): nothing is limited. */
const UNLIMITED = rateHeaders(1000, 1000)
