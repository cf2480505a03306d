import { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type z } from 'zod'
import { defined } from '#base/defined'
import { type Access, type RouteName, ROUTES, type RouteSpec, SCOPE_OF } from '#manager/contract'
import { type Caller, tokenOf } from '../../users/authorize.ts'
import { onBehalfOf } from '../../store/on-behalf.ts'
import { type KeyedRequest } from '../../store/operation/idempotency-keys.ts'
import { type BodyDeadlines } from '../body-deadlines.ts'
import { type Handlers } from '../handlers.ts'
import { type LargeAnswers } from '../large-answers.ts'
import { IDEMPOTENCY_HEADER, type Once, REPLAYED_HEADER } from '../idempotency.ts'
import { senderOf } from '../sender.ts'
import { strictQuery } from '../strict-query.ts'

/** Most bytes of a body to a route that needs no sign-in. */
const STRANGER_BODY_LIMIT = 16 * 1024

/** Common type of all handlers after their own types were checked: the server passes the input that the schemas parsed. */
type AnyHandler = (context: AnyContext, input: { params: unknown; query: unknown; body: unknown }) => Promise<unknown>
interface AnyContext {
  readonly caller: Caller | null
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly keyed: KeyedRequest | undefined
  readonly signal: AbortSignal
}

export interface ContractRoutesDeps {
  readonly handlers: Handlers
  readonly once: Once
  readonly bodyDeadlines: BodyDeadlines
  readonly largeAnswers: Pick<LargeAnswers, 'begin'>
}

/** The routes with their queries, made once for all managers of a process: a tenth of what the start of a manager computes. */
const REGISTERED = (Object.keys(ROUTES) as RouteName[]).map(name => {
  const route: RouteSpec = ROUTES[name]
  return { name, route, query: strictQuery(route.query) }
})

/** Registers every entry of ROUTES with its handler. */
export function registerContractRoutes(app: FastifyInstance, { handlers, ...deps }: ContractRoutesDeps): void {
  for (const { name, route, query } of REGISTERED)
    register(app, { name, route, query, handler: handlers[name] as AnyHandler, ...deps })
}

interface Registered extends Omit<ContractRoutesDeps, 'handlers'> {
  readonly name: RouteName
  readonly route: RouteSpec
  /** The query of the route, without unknown fields. */
  readonly query: z.ZodObject
  readonly handler: AnyHandler
}

function register(app: FastifyInstance, registered: Registered): void {
  const { name, route, query: querystring, handler, once, bodyDeadlines, largeAnswers } = registered
  const status = route.status ?? 200
  app.route({
    method: route.method,
    url: route.path,
    ...(route.access === 'none' ? { bodyLimit: STRANGER_BODY_LIMIT } : {}),
    config: {
      access: route.access,
      ...(route.byPerson ? { byPerson: true } : {}),
      ...defined({ scope: SCOPE_OF[name] }),
      route: name,
      // Otherwise only the automatic HEAD routes of GET exist, which need no description.
      ...(route.method === 'HEAD' ? { swagger: { exposeHeadRoute: true } } : {}),
      ...defined({ streamedBody: route.streamedBody, jsonParts: route.jsonParts }),
    },
    schema: {
      hide: route.access === 'console',
      operationId: name,
      summary: route.summary,
      tags: [tagOf(route.path)],
      security: securityOf(route),
      ...(route.params ? { params: route.params } : {}),
      querystring,
      ...(route.body ? { body: route.body } : {}),
      response: { [status]: route.reply },
    },
    handler: (request, reply) => onBehalfOf(senderOf(request), () => answer(request, reply)),
  })

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { params, query, body } = request
    if (route.streamedBody !== undefined) {
      bodyDeadlines.lift(request.raw)
      reply.raw.once('finish', () => bodyDeadlines.restore(request.raw))
    }
    const signal = abortedWith(reply)
    const caller = request.credentials?.caller ?? null
    const work = async (keyed: KeyedRequest | undefined) => {
      const end = caller === null ? undefined : await largeAnswers.begin(caller.userId, name, query)
      try {
        signal.throwIfAborted()
        return await handler({ caller, request, reply, keyed, signal }, { params, query, body })
      } finally {
        end?.()
      }
    }
    const header = request.headers[IDEMPOTENCY_HEADER]
    const { result, replayed } =
      caller === null
        ? { result: await work(undefined), replayed: false }
        : await once(
            {
              route,
              header,
              userId: caller.userId,
              request: { url: request.url, body, ...defined({ token: tokenOf(caller) ?? undefined }) },
            },
            work,
          )
    if (replayed) void reply.header(REPLAYED_HEADER, 'true')
    request.outcome = { ...request.outcome, reply: result, replayed }
    void reply.code(status)
    return result
  }
}

function abortedWith(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  const { raw } = reply
  // If the client left while its request was checked, no `close` event follows.
  if (raw.destroyed) controller.abort()
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort()
  })
  return controller.signal
}

function tagOf(path: string): string {
  return path.split('/')[3] ?? 'api'
}

export function securityOf({ access, byPerson }: { access: Access; byPerson?: true }): Record<string, string[]>[] {
  if (access === 'none' || access === 'console') return []
  return [{ bearer: [] }, ...(byPerson ? [] : [{ signature: [] }]), { cookie: [], originSecret: [] }]
}
