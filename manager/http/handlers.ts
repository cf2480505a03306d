import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type z } from 'zod'
import { type RouteName, type RouteReply, type ROUTES } from '#manager/contract'
import { type KeyedRequest } from '../store/operation/idempotency-keys.ts'
import { type Caller } from '../users/authorize.ts'

type Route<N extends RouteName> = (typeof ROUTES)[N]
type Parsed<R, K extends 'params' | 'query' | 'body'> = R extends { readonly [P in K]: infer S extends z.ZodType }
  ? z.output<S>
  : undefined

/** Input of a request as the schemas of its route parsed it: defaults filled in, unknown keys dropped or refused. */
export interface ParsedInput<N extends RouteName> {
  readonly params: Parsed<Route<N>, 'params'>
  readonly query: Parsed<Route<N>, 'query'>
  readonly body: Parsed<Route<N>, 'body'>
}

/** `caller` may be null only on routes with access `none` or `console`; there it is always null, because the server authenticates nobody. */
export interface RequestContext<N extends RouteName = RouteName> {
  readonly caller: Route<N>['access'] extends 'none' | 'console' ? null : Caller
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Set for a request with an idempotency key. */
  readonly keyed: KeyedRequest | undefined
  /** Aborted when the client goes away before the reply. */
  readonly signal: AbortSignal
}

/**
 * The handlers, one per entry of ROUTES; a missing or extra one is a compile error. A handler does not parse input, check roles or format
 * errors (the server does this, using the table): it calls a service and returns the reply or throws an AppError. Each `routes/*.ts`
 * returns its share: `createSessionRoutes(deps): Pick<Handlers, 'createSession' | …>`.
 */
export type Handlers = {
  readonly [N in RouteName]: (context: RequestContext<N>, input: ParsedInput<N>) => Promise<RouteReply<N>>
}
