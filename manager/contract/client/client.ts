import { type z } from 'zod'
import { type AbortSignalLike, callRoute, type ClientDeps, type RouteCall } from './call-route.ts'
import { ROUTES, type RouteName } from '../routes.ts'

type Part<R, K extends 'params' | 'query' | 'body'> = R extends { readonly [P in K]: infer S extends z.ZodType }
  ? undefined extends z.input<S>
    ? { readonly [P in K]?: z.input<S> }
    : { readonly [P in K]: z.input<S> }
  : { readonly [P in K]?: undefined }
export type RouteInput<N extends RouteName> = Part<(typeof ROUTES)[N], 'params'> &
  Partial<Part<(typeof ROUTES)[N], 'query'>> &
  Part<(typeof ROUTES)[N], 'body'> & {
    readonly signal?: AbortSignalLike
    readonly headers?: Readonly<Record<string, string>>
  }
export type RouteReply<N extends RouteName> = z.output<(typeof ROUTES)[N]['reply']>
type Arguments<N extends RouteName> = object extends RouteInput<N> ? [input?: RouteInput<N>] : [input: RouteInput<N>]

/**
 * `api.createSession({ body })`, one function per route.
 *
 * @throws AppError with the server's code; `unavailable` if no manager answers; `internal` for a refusal in an unknown form
 */
export type ApiClient = { readonly [N in RouteName]: (...input: Arguments<N>) => Promise<RouteReply<N>> }

export function createClient(deps: ClientDeps): ApiClient {
  const entries = Object.entries(ROUTES).map(([name, route]) => [
    name,
    (input: RouteCall = {}) => callRoute(deps, route, input),
  ])
  return Object.fromEntries(entries) as ApiClient
}
